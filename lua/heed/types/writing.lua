---@meta _
--- Writing into a tensor.

---@class heed.Methods
local both = {}

---@param t heed.Tensor
---@param value number|boolean
---@return heed.Tensor t
function both.fill_(t, value) end

---@param t heed.Tensor
---@return heed.Tensor t
function both.zero_(t) end

---Broadcasts, and converts.
---@param t heed.Tensor
---@param source heed.Tensor
---@return heed.Tensor t
function both.copy_(t, source) end

---@param t heed.Tensor
---@param low? number 0
---@param high? number 1
---@param options? { generator?: heed.Generator }
---@return heed.Tensor t
function both.uniform_(t, low, high, options) end

---@param t heed.Tensor
---@param mean? number 0
---@param std? number 1
---@param options? { generator?: heed.Generator }
---@return heed.Tensor t
function both.normal_(t, mean, std, options) end
