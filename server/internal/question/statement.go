package question

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// Every resolution is signed once, in the transition that settles the question. The
// envelope is stored with the question: it is its receipt, and the seal of the answer that
// its agent gets.

// signedStatement is the signed form of a resolution. It is empty for a question of an older
// hub, which has no digest.
type signedStatement struct {
	envelope    []byte // schema.Envelope, JSON
	ask, digest string // SHA-256 of the question and of the statement, in hex
}

// signResolution signs the answer that settles the question with status st.
func (s *Snapshot) signResolution(answer *schema.Answer, st *schema.Status) (signed signedStatement, err error) {
	if s.AskHash == nil {
		return signed, nil
	}
	statement, err := json.Marshal(s.statement(answer, st))
	if err != nil {
		return signed, fmt.Errorf("encode statement: %w", err)
	}
	if signed.envelope, err = json.Marshal(s.env.Key.Sign(schema.StatementPayload, statement)); err != nil {
		return signed, fmt.Errorf("encode envelope: %w", err)
	}
	digest := sha256.Sum256(statement)
	signed.ask, signed.digest = hex.EncodeToString(s.AskHash), hex.EncodeToString(digest[:])
	return signed, nil
}

// statement returns the statement about the answer that settles the question.
func (s *Snapshot) statement(answer *schema.Answer, st *schema.Status) *sign.Statement {
	statement := &sign.Statement{Type: sign.StatementType, PredicateType: sign.DecisionType}
	addSubject := func(name, algorithm, digest string) {
		statement.Subject = append(statement.Subject, sign.Subject{Name: name, Digest: map[string]string{algorithm: digest}})
	}
	addSubject(sign.AskSubject, "sha256", hex.EncodeToString(s.AskHash))
	text := sha256.Sum256([]byte(s.Ask.Question))
	addSubject(sign.QuestionSubject, "sha256", hex.EncodeToString(text[:]))
	tool := s.Tool
	if c := s.Call(); c.Exists() {
		tool = c.Name
		if !c.isRedacted() {
			digest := sign.CallDigest(c.Name, c.Arguments)
			addSubject(sign.CallSubject, "sha256", hex.EncodeToString(digest[:]))
		}
	}
	if s.Ask.Context != nil && s.Ask.Context.Commit != "" {
		addSubject(sign.CommitSubject, "gitCommit", s.Ask.Context.Commit)
	}
	if c := s.Ask.ToolCall; c != nil && c.Consequence != nil {
		digest := sign.ConsequenceDigest(c.Consequence)
		addSubject(sign.ConsequenceSubject, "sha256", hex.EncodeToString(digest[:]))
	}
	statement.Predicate = sign.SignedDecision{
		Hub: s.env.HubID, Event: s.UID, EventID: s.ID, AnswerID: answer.AnswerID,
		App: s.App, Session: s.Session, Requester: s.Requester, Tool: tool,
		Answer: sign.SignedAnswer{
			Permission: answer.Permission, Response: answer.Response, Choice: answer.Choice, Answers: answer.Answers,
			Reason: answer.Reason, Comment: answer.Comment, ModifiedArguments: answer.ModifiedArguments, Remember: answer.Remember,
			Interrupt: answer.Interrupt, AskBack: answer.AskBack,
		},
		Outcome: answer.Outcome, Source: answer.Source, RespondedAt: answer.RespondedAt, RespondedBy: answer.RespondedBy,
		Votes: answer.Votes, Awaiting: answer.Awaiting, RequiredApprovals: answer.RequiredApprovals,
		Rule: answer.Rule, Guidance: answer.Guidance, Class: st.Class, Risk: st.Risk,
	}
	return statement
}
