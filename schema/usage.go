package schema

// Tokens counts the tokens that a model read and wrote.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Add returns t + o.
func (t Tokens) Add(o Tokens) Tokens {
	return Tokens{Input: t.Input + o.Input, Output: t.Output + o.Output, CacheRead: t.CacheRead + o.CacheRead, CacheWrite: t.CacheWrite + o.CacheWrite}
}

// ModelUsage is what a session has used of one model since its start, as its transcript states it.
type ModelUsage struct {
	Model   string  `json:"model,omitempty"` // empty: unknown
	Tokens  Tokens  `json:"tokens"`
	CostUSD float64 `json:"costUsd,omitempty"` // 0: not stated
}
