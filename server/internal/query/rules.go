package query

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
)

// maxRulesListed limits the rules in a list.
const maxRulesListed = 1000

// Rules returns the newest rules as a JSON array of schema.Rule.
func (s *Service) Rules(ctx context.Context) ([]byte, error) {
	stored, err := s.Store.Rules(ctx, maxRulesListed)
	if err != nil {
		return nil, err
	}
	result := make([]schema.Rule, len(stored))
	for i := range stored {
		result[i] = stored[i].Rule
	}
	return json.Marshal(result)
}
