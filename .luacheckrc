std = "lua54"
max_line_length = 100
max_string_line_length = false
max_comment_line_length = false
exclude_files = { "build*/", "lua/heed/types/" }
files["spec/"] = { std = "+busted", max_line_length = 140 } -- tables of what is typed and said
files["examples/*_spec.lua"] = { std = "+busted" }
files["*.rockspec"] = { std = "+rockspec" }
files[".luacheckrc"] = { std = "+luacheckrc" }
