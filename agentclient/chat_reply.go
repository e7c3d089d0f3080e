package agentclient

import "github.com/hookback/hookback/agentclient/internal/reply"

// Reply is the meaning of a person's chat message.
type Reply = reply.Reply

// Meanings of a message. Only ReplyYes approves anything.
const (
	ReplyUnclear = reply.Unclear
	ReplyYes     = reply.Yes
	ReplyNo      = reply.No
)

// ParseReply classifies a person's reply to a yes-or-no question, in about twenty
// languages. Pass the person's own words, never a model's summary of them.
//
// ReplyYes requires a message that only agrees: "yes, but not the images", "yes?" and
// "yes and no" are ReplyUnclear, as is every message that is not recognized, including
// an empty one. Ask again in that case. A refusal may continue with a reason after
// punctuation.
func ParseReply(text string) Reply { return reply.Parse(text) }
