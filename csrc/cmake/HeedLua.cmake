# The Lua room and what users run.
