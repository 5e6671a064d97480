--- Layers of channels: what their options mean, their corners, and what they say.

local heed = require "heed"
require "heed.luassert"
local nn = heed.nn

local INF, NAN = math.huge, 0 / 0

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return text
end

describe("convolution", function()
    it("pads with more than zeros", function()
        local x = heed.tensor { { { 1, 2, 3, 4 } } }
        for mode, want in pairs {
            zeros = { 3, 6, 9, 7 }, reflect = { 5, 6, 9, 10 }, replicate = { 4, 6, 9, 11 },
            circular = { 7, 6, 9, 8 },
        } do
            for _, padding in ipairs { 1, "same" } do
                local layer = nn.Conv1d(1, 1, 3, { padding = padding, padding_mode = mode,
                    bias = false })
                layer.weight = nn.parameter(heed.ones(1, 1, 3))
                assert.is_close(layer(x):flatten(), want)
            end
        end
    end)

    it("starts as PyTorch's does", function()
        heed.manual_seed(3)
        local layer = nn.Conv2d(6, 50, { 3, 5 }, { groups = 2 })
        local bound = 1 / math.sqrt(3 * 15)
        assert.has_shape(layer.weight, { 50, 3, 3, 5 })
        for _, t in ipairs { layer.weight, layer.bias } do
            assert.is_true(t:abs():max():item() <= bound)
            assert.is_true(t:abs():max():item() > 0.8 * bound)
        end
        assert.equal("Conv2d(6, 50, { 3, 5 }, groups = 2)  2,300\n2,300 parameters",
            tostring(layer))
    end)

    it("takes what lies anyhow, and gives what the contiguous gives", function()
        local x, w = heed.randn(2, 9, 3), heed.randn(3, 4, 3)
        local want = heed.conv1d(x:transpose(2, 3):contiguous(), w:transpose(1, 2):contiguous())
        assert.is_true(heed.conv1d(x:transpose(2, 3), w:transpose(1, 2)):equal(want))
    end)

    it("keeps NaN and infinity, and where they are", function()
        local y = heed.conv1d(heed.tensor { { { 1, NAN, 1, 1, INF, 1 } } }, heed.ones(1, 1, 2))
        assert.is_close(y:flatten(), { NAN, NAN, 2, INF, INF })
    end)

    it("has gradients of 0 of an empty batch", function()
        for _, groups in ipairs { 1, 2 } do
            local layer = nn.Conv1d(2, 4, 3, { groups = groups })
            local x = heed.zeros(0, 2, 5, { requires_grad = true })
            local y = layer(x)
            assert.has_shape(y, { 0, 4, 3 })
            y:sum():backward()
            assert.has_shape(x.grad, { 0, 2, 5 })
            assert.is_true(layer.weight.grad:equal(heed.zeros(4, 2 // groups, 3)))
            assert.is_true(layer.bias.grad:equal(heed.zeros(4)))
        end
    end)

    it("has the same bits on any number of threads, whole and a panel at a time", function()
        local before = heed.get_num_threads()
        local x, w = heed.randn(3, 70, 33, 37), heed.randn(96, 70, 3, 3)
        local results = {}
        for threads = 1, 3 do
            heed.set_num_threads(threads)
            local a, b = x:clone():requires_grad_(true), w:clone():requires_grad_(true)
            local y = heed.conv2d(a, b, nil, { padding = 1, stride = { 1, 2 } })
            y:square():sum():backward()
            results[threads] = y:bytes() .. a.grad:bytes() .. b.grad:bytes()
        end
        heed.set_num_threads(before)
        assert.is_true(results[1] == results[2] and results[1] == results[3])
    end)

    it("says what it does not take", function()
        local x, w = heed.zeros(2, 4, 9), heed.zeros(6, 4, 3)
        local function with(options) return function() heed.conv1d(x, w, nil, options) end end
        for pattern, f in pairs {
            ["conv1d: x: expected 4 channels, got %[2, 3, 9%]"] = function()
                heed.conv1d(heed.zeros(2, 3, 9), w)
            end,
            ["conv1d: x: expected %[B, C, L%], got %[4, 9%]"] = function()
                heed.conv1d(heed.zeros(4, 9), w)
            end,
            ["conv2d: weight: expected %[out, in / groups, kh, kw%], got %[6, 4, 3%]"] = function()
                heed.conv2d(heed.zeros(2, 4, 9, 9), w)
            end,
            ["at least 11 elements with the padding along dimension 3.*got 9"] =
                with { dilation = 5 },
            ["stride: expected 1 or more, got 0"] = with { stride = 0 },
            ["padding: expected 0 or more, got %-1"] = with { padding = -1 },
            ['padding: expected a number, a list, "same" or "valid", got "full"'] =
                with { padding = "full" },
            ['padding: expected numbers beside a stride, got "same"'] =
                with { padding = "same", stride = 2 },
            ["stride: expected a number or a list of 1, got a list of 2"] =
                with { stride = { 1, 2 } },
            ["groups: expected a divisor of the 6 outputs of weight, got 4"] = with { groups = 4 },
            ["x: expected 8 channels, got %[2, 4, 9%]"] = with { groups = 2 },
            ["at most 2^44 elements"] = with { padding = 1 << 50 },
            ["bias: expected shape %[6%], got %[5%]"] = function()
                heed.conv1d(x, w, heed.zeros(5))
            end,
            ["x: expected f32 as weight"] = function() heed.conv1d(x:to "f64", w) end,
            ["heed.nn.Conv1d: groups: expected a divisor of in_channels 4, got 3"] = function()
                nn.Conv1d(4, 6, 3, { groups = 3 })
            end,
            ["heed.nn.Conv2d: kernel_size: expected a number or a list of 2"] = function()
                nn.Conv2d(4, 6, { 3 })
            end,
        } do assert.matches(pattern, message(f)) end
    end)

    it("says where in a model", function()
        local model = nn.Sequential(nn.Conv1d(3, 4, 3), nn.Sequential(nn.Conv1d(5, 4, 3)))
        assert.matches("Sequential%.2%.1: x: expected 5 channels, got %[1, 4, 6%]",
            message(model.check, model, heed.zeros(1, 3, 8)))
    end)
end)

describe("pooling", function()
    it("gives the gradient to the first of equal ones, and to NaN", function()
        local x = heed.tensor({ { 2, 2, 1, 3, NAN, 3 } }, { requires_grad = true })
        local y = heed.max_pool1d(x, 3)
        assert.is_close(y, { { 2, NAN } })
        y:backward(heed.tensor { { 5, 7 } })
        assert.is_close(x.grad, { { 5, 0, 0, 0, 7, 0 } })
    end)

    it("has -inf where a window sees nothing, and no gradient", function()
        local x = heed.tensor({ { 1, 2 } }, { requires_grad = true })
        local y = heed.max_pool1d(x, 2, { padding = 1, dilation = 3, stride = 1 })
        assert.is_close(y, { { -INF } })
        y:sum():backward()
        assert.is_close(x.grad, { { 0, 0 } })
    end)

    it("says what it does not take", function()
        local x = heed.zeros(2, 3, 4)
        for pattern, f in pairs {
            ["max_pool1d: padding: expected at most half of kernel_size 3, got 2"] = function()
                heed.max_pool1d(x, 3, { padding = 2 })
            end,
            ["avg_pool1d: x: expected at least 5 elements along dimension 3, got 4"] = function()
                heed.avg_pool1d(x, 5)
            end,
            ["max_pool2d: x: expected %[B, C, H, W%] or %[C, H, W%], got %[3, 4%]"] = function()
                heed.max_pool2d(heed.zeros(3, 4), 2)
            end,
            ['avg_pool1d: options: there is no option "dilation"'] = function() heed.avg_pool1d(x, 2, { dilation = 2 }) end,
            ["kernel_size: expected 1 or more"] = function() heed.max_pool1d(x, 0) end,
            ["kernel_size: expected a number, got nil"] = function() heed.max_pool1d(x) end,
            ["x: expected f32 or f64, got i64"] = function() heed.max_pool1d(x:to "i64", 2) end,
        } do assert.matches(pattern, message(f)) end
    end)
end)

describe("norms of channels", function()
    it("count batches, and take what ran when they evaluate", function()
        local norm = nn.BatchNorm1d(2, { momentum = 0.5 })
        norm(heed.tensor { { 1, 10 }, { 3, 30 } })
        norm(heed.tensor { { 3, 10 }, { 5, 30 } })
        assert.is_close(norm.running_mean, { 2.5, 15 })
        assert.is_close(norm.running_var, { 1.75, 150.25 }, 1e-5)
        assert.equal(2, norm.num_batches_tracked:item())
        local y = norm:eval()(heed.tensor { { 2.5, 15 } })
        assert.is_close(y, { { 0, 0 } })
        assert.equal(2, norm.num_batches_tracked:item())
    end)

    it("average all batches without momentum", function()
        local norm = nn.BatchNorm1d(1, { momentum = false })
        for _, mean in ipairs { 1, 2, 6 } do norm(heed.tensor { { mean - 1 }, { mean + 1 } }) end
        assert.is_close(norm.running_mean, { 3 })
    end)

    it("do without running statistics, and without parameters", function()
        local norm = nn.BatchNorm2d(3, { track_running_stats = false, affine = false }):eval()
        assert.same({}, norm:state_dict())
        local y = norm(heed.randn(2, 3, 5, 5) + 7)
        assert.is_close(y:transpose(1, 2):flatten(2):mean(2), { 0, 0, 0 }, 1e-5)
    end)

    it("leave what ran alone when the call fails, when shapes alone run, and in evaluation",
        function()
            local norm = nn.BatchNorm1d(2)
            norm:check(heed.randn(4, 2))
            message(norm, heed.randn(1, 2))
            norm:eval()(heed.randn(4, 2))
            assert.is_close(norm.running_mean, { 0, 0 })
            assert.is_close(norm.running_var, { 1, 1 })
            assert.equal(0, norm.num_batches_tracked:item())
        end)

    it("keep NaN within its channel, and within its group", function()
        local x = heed.tensor { { 1, 2, 3, NAN }, { 3, 5, 4, 1 } }
        local y = heed.batch_norm(x, { training = true, eps = 0 })
        assert.is_close(y, { { -1, -1, -1, NAN }, { 1, 1, 1, NAN } })
        y = heed.group_norm(x, 2, nil, nil, 0)
        assert.is_close(y, { { -1, 1, NAN, NAN }, { -1, 1, 1, -1 } })
    end)

    it("do not lose small differences of large numbers", function()
        local x = heed.randn(8, 2, 40, { dtype = "f64" })
        local want = heed.batch_norm(x, { training = true })
        local far = heed.batch_norm((x + 4096):to "f32", { training = true })
        assert.is_close(far, want:to "f32", 3e-3)
    end)

    it("say what they do not take", function()
        for pattern, f in pairs {
            ["x: expected more than one value of each channel in training, got %[1, 2, 1%]"] =
                function() nn.BatchNorm1d(2)(heed.zeros(1, 2, 1)) end,
            ["x: expected %[B, C, H, W%] with 3 channels %(num_features%), got %[2, 3, 4%]"] =
                function() nn.BatchNorm2d(3)(heed.zeros(2, 3, 4)) end,
            ["running_mean: expected a tensor, got nil; without running statistics"] =
                function() heed.batch_norm(heed.zeros(2, 3)) end,
            ["running_var: expected a tensor beside running_mean, got nil"] = function()
                heed.batch_norm(heed.zeros(2, 3), heed.zeros(3), { training = true })
            end,
            ["running_mean: expected shape %[3%], got %[2%]"] = function()
                heed.batch_norm(heed.zeros(2, 3), heed.zeros(2), heed.zeros(2))
            end,
            ["num_groups: expected a divisor of the 4 channels of x, got 3"] = function()
                heed.group_norm(heed.zeros(2, 4), 3)
            end,
            ["heed.nn.GroupNorm: num_channels: expected a multiple of num_groups 3, got 4"] =
                function() nn.GroupNorm(3, 4) end,
            ["x: expected %[B, C, ...%] with 4 channels"] = function()
                nn.GroupNorm(2, 4)(heed.zeros(2, 5))
            end,
            ["momentum: expected a number 0..1, got 2"] = function()
                heed.batch_norm(heed.zeros(2, 3), { training = true, momentum = 2 })
            end,
        } do assert.matches(pattern, message(f)) end
    end)
end)

describe("a network of channels", function()
    local function network()
        return nn.Sequential(nn.Conv2d(3, 6, 3, { padding = 1 }), nn.BatchNorm2d(6), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(6, 6, 3, { groups = 6 }), nn.GroupNorm(2, 6),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4))
    end

    it("runs on shapes alone as it does on numbers", function()
        local model, x = network(), heed.randn(2, 3, 12, 10)
        assert.same({ 2, 4 }, { table.unpack(model:check(x)) })
        assert.has_shape(model(x), { 2, 4 })
    end)

    it("has the same gradients when it is computed again", function()
        local model, x = network(), heed.randn(2, 3, 12, 10)
        model(x):square():sum():backward()
        local want = {}
        for i, p in ipairs(model:parameters()) do want[i], p.grad = p.grad, nil end
        heed.recompute(model, x):square():sum():backward()
        for i, p in ipairs(model:parameters()) do assert.is_true(p.grad:equal(want[i])) end
    end)

    it("is named where backward meets NaN", function()
        local model, x = network(), heed.randn(2, 3, 12, 10)
        local _ <close> = heed.detect_anomaly()
        local y = model(x)
        assert.matches("NaN", message(function() (y * NAN):sum():backward() end))
    end)

    it("learns", function()
        heed.manual_seed(5)
        local model, x = network(), heed.randn(16, 3, 12, 10)
        local classes = heed.randint(1, 4, 16)
        local opt = heed.optim.AdamW(model:parameters(), { lr = 0.02 })
        local first, last
        for _ = 1, 40 do
            local loss = heed.loss.cross_entropy(model(x), classes)
            opt:zero_grad()
            loss:backward()
            opt:step()
            first, last = first or loss:item(), loss:item()
        end
        assert.is_true(last < 0.5 * first)
    end)
end)
