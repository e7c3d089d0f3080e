package buttons

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// macBytes is the length of the truncated signature of a button.
const macBytes = 16

// MaxDataBytes is the limit of Telegram for the data of a button. Data is never longer.
const MaxDataBytes = 64

// Press is the meaning of a button: one answer to a question as a message showed it.
type Press struct {
	Notice   int64 // the notification that the message belongs to
	Question schema.EventID
	Revision int64 // of the question's status when the message was sent
	Answer   Answer
}

// Signer signs the buttons of one channel.
type Signer struct {
	key     []byte
	channel int64
}

// NewSigner returns a signer with a key of the hub that serves no other purpose.
func NewSigner(key []byte, channel int64) *Signer { return &Signer{key, channel} }

// fields encodes a press without its signature.
func (p Press) fields() []byte {
	b := binary.AppendUvarint(nil, uint64(p.Notice)) //nolint:gosec // read back as it is
	b = binary.AppendUvarint(b, uint64(p.Question))  //nolint:gosec // read back as it is
	b = binary.AppendUvarint(b, uint64(p.Revision))  //nolint:gosec // read back as it is
	return append(b, byte(p.Answer))
}

func (s *Signer) mac(fields []byte, uid string) []byte {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "button\n%d\n%s\n", s.channel, uid)
	h.Write(fields)
	return h.Sum(nil)[:macBytes]
}

// Data returns the data of a button. uid is the question's UID: the number of a question can name
// another one after its database was restored from a backup.
func (s *Signer) Data(p Press, uid string) string {
	fields := p.fields()
	return base64.RawURLEncoding.EncodeToString(append(fields, s.mac(fields, uid)...))
}

// Parse decodes the data of a button without its signature: Signed needs the question that the data
// names. ok is false if it is no data of a button.
func Parse(data string) (p Press, ok bool) {
	if len(data) > MaxDataBytes {
		return p, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(data)
	if err != nil || len(raw) <= macBytes {
		return p, false
	}
	r := bytes.NewReader(raw[:len(raw)-macBytes])
	var numbers [3]uint64
	for i := range numbers {
		if numbers[i], err = binary.ReadUvarint(r); err != nil {
			return p, false
		}
	}
	answer, err := r.ReadByte()
	if err != nil || r.Len() > 0 {
		return p, false
	}
	return Press{int64(numbers[0]), schema.EventID(numbers[1]), int64(numbers[2]), Answer(answer)}, true //nolint:gosec // the reverse of fields
}

// Signed reports whether data is what Data returns for p and uid.
func (s *Signer) Signed(data string, p Press, uid string) bool {
	return hmac.Equal([]byte(data), []byte(s.Data(p, uid)))
}

// Use identifies the use of a button by a person, so that no button answers twice for them.
func (s *Signer) Use(p Press, uid, person string) []byte {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "use\n%d\n%d\n%s\n%s", s.channel, p.Notice, uid, person)
	return h.Sum(nil)
}
