package kit

import "github.com/hookback/hookback/schema"

// QuestionChange is a row of the log that changes a question, or stores it.
type QuestionChange struct {
	Seq      int64
	Question schema.EventID
}

// ChangedQuestions returns the questions of lists with up to limit changes each, without duplicates.
// upTo is the position that they reach in a log that ends at head.
func ChangedQuestions(head int64, limit int, lists ...[]QuestionChange) (ids []schema.EventID, upTo int64) {
	upTo = head
	for _, list := range lists {
		if len(list) == limit {
			upTo = min(upTo, list[limit-1].Seq)
		}
	}
	seen := map[schema.EventID]bool{}
	for _, list := range lists {
		for _, c := range list {
			if c.Seq <= upTo && !seen[c.Question] {
				seen[c.Question] = true
				ids = append(ids, c.Question)
			}
		}
	}
	return ids, upTo
}
