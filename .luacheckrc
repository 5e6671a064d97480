std = "lua54"
max_line_length = 130
exclude_files = { "build*/", "lua/heed/types/" }
files["spec/"] = { std = "+busted" }
files["*.rockspec"] = { std = "+rockspec" }
files[".luacheckrc"] = { std = "+luacheckrc" }
