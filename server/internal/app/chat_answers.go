package app

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/hub"
)

// chatAnswers stores the answers that people give in chats.
type chatAnswers struct{ hub *hub.Hub }

func (a chatAnswers) RespondAs(ctx context.Context, id schema.EventID, r *schema.Response, by auth.Identity) error {
	_, err := a.hub.Respond(ctx, id, r, hub.Caller{Identity: by})
	return err
}
