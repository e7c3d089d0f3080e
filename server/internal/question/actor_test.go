package question

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

// The processes of two machines can have the same ids. A question that another hub stored may name a
// process of another machine.
func TestSnapshot_ComparesProcessesOfOneMachine(t *testing.T) {
	t.Parallel()
	answerer := &peer.Process{Chain: []peer.ProcessRef{{PID: 20, Start: 2}, {PID: 10, Start: 1}}, Boot: "a"}
	for boot, isOwn := range map[string]bool{"a": true, "b": false, "": false} {
		asker, err := json.Marshal(peer.Process{Chain: answerer.Chain[1:], Boot: boot})
		require.NoError(t, err)
		s := &Snapshot{Question: &store.Question{NewQuestion: store.NewQuestion{RequesterProcess: asker}}}
		require.Equal(t, isOwn, s.IsStartedByRequester(Actor{Process: answerer}), boot)
		require.Equal(t, isOwn, Actor{Process: answerer}.responder(asker).SelfApproval)
	}
}
