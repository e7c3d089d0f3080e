package store

import "strconv"

// AppendJSON appends the event as JSON to dst. It splices the stored pieces without
// decoding or encoding the client's JSON. A payload of more than limit bytes is omitted
// and marked; a negative limit keeps any payload.
func (e *Event) AppendJSON(dst []byte, limit int) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(e.ID), 10)
	dst = append(dst, `,"uid":"`...)
	dst = append(dst, e.UID...)
	dst = append(dst, `","timestamp":`...)
	dst = strconv.AppendInt(dst, e.Timestamp, 10)
	if len(e.Envelope) > 0 {
		dst = append(dst, ',')
		dst = append(dst, e.Envelope...)
	}
	dst = append(dst, `,"payload":`...)
	if size := max(len(e.Payload), e.PayloadBytes); e.PayloadBytes > 0 || limit >= 0 && size > limit {
		dst = append(dst, `{},"payloadTruncated":true,"payloadBytes":`...)
		dst = strconv.AppendInt(dst, int64(size), 10)
	} else {
		dst = append(dst, e.Payload...)
	}
	if e.Question != nil {
		dst = append(dst, `,"humanInTheLoop":`...)
		dst = append(dst, e.Question...)
		dst = append(dst, `,"humanInTheLoopStatus":`...)
		dst = append(dst, e.Status...)
	}
	return append(dst, '}')
}
