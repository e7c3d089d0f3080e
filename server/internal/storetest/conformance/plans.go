package conformance

import "github.com/hookback/hookback/server/internal/store"

// PlannedSearches are the filters of searches whose statements differ.
var PlannedSearches = []string{
	"word", "agent:app", "-agent:app type:pre* session:s", "tool:bash", "status:pending", "-status:pending", "status:re*",
	"kind:permission agent:app -tool:bash", "id:1", "risk:high agent:app", "chat:word", "-chat:word tool:bash",
}

// FilterCombinations returns every combination of filter terms.
func FilterCombinations() (list []store.Filter) {
	for i := range 1 << 6 {
		for _, status := range []string{"", "pending", store.Undelivered} {
			f := store.Filter{Status: status}
			for bit, set := range []func(){
				func() { f.App = "app" }, func() { f.Session = "s" }, func() { f.Type = "PreToolUse" },
				func() { f.Tool = "Bash" }, func() { f.Text = "x" }, func() { f.After = 1 },
			} {
				if i&(1<<bit) != 0 {
					set()
				}
			}
			list = append(list, f)
		}
	}
	return list
}
