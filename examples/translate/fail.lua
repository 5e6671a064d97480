--- Ends the program with a message for the user.
--- @param format string
return function(format, ...)
    io.stderr:write("translate.lua: ", format:format(...), "\n")
    os.exit(1, true)
end
