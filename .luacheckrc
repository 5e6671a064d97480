std = "lua54"
max_line_length = 140
max_comment_line_length = false
exclude_files = { "build*/", "lua/heed/types/" }
files["spec/"] = { std = "+busted" }
files["examples/*_spec.lua"] = { std = "+busted" }
files["*.rockspec"] = { std = "+rockspec" }
files[".luacheckrc"] = { std = "+luacheckrc" }
