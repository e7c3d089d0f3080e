package hubtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/coder/websocket"
	fiberws "github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

// floor is the least that a server of the hub's libraries does for an event and an ask: the same exchanges over the
// network and the same appends that reach the disk, but no database, no checks and no history. The hub's cost is
// compared with it.
type floor struct {
	mu     sync.Mutex
	file   *os.File
	events []string // the address that the answer to each event goes to
	pages  map[*fiberws.Conn]bool
}

func serveFloor(ctx context.Context) error {
	file, err := os.Create(os.Getenv(dbVariable))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	f := &floor{file: file, pages: map[*fiberws.Conn]bool{}}
	return serveFiber(ctx, func(app *fiber.App) {
		app.Post(schema.PathEvents, f.post)
		app.Post(schema.PathRespond, f.respond)
		app.Get(schema.PathStream, fiberws.New(f.stream))
	})
}

// append writes one record and flushes it to the disk.
func (f *floor) append(record []byte) error {
	if _, err := f.file.Write(append(record, '\n')); err != nil {
		return err
	}
	return f.file.Sync()
}

// send sends a frame to all pages.
func (f *floor) send(frame []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for page := range f.pages {
		_ = page.WriteMessage(fiberws.TextMessage, frame)
	}
}

func (f *floor) post(c *fiber.Ctx) error {
	var event struct {
		HumanInTheLoop struct{ ResponseWebSocketURL string }
	}
	body := bytes.Clone(c.Body())
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	f.mu.Lock()
	f.events = append(f.events, event.HumanInTheLoop.ResponseWebSocketURL)
	stored := fmt.Appendf(nil, `{"id":%d,%s`, len(f.events), body[1:])
	f.mu.Unlock()
	if err := f.append(stored); err != nil {
		return err
	}
	f.send(fmt.Appendf(nil, `{"type":"event","data":%s}`, stored))
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	return c.Send(stored)
}

func (f *floor) respond(c *fiber.Ctx) error {
	id, err := c.ParamsInt("id")
	if err != nil {
		return err
	}
	f.mu.Lock()
	address := f.events[id-1]
	f.mu.Unlock()
	answer := fmt.Appendf(nil, `{"answerId":"%d",%s`, id, c.Body()[1:])
	if err := f.append(answer); err != nil {
		return err
	}
	go f.deliver(id, address, answer)
	return c.JSON(fiber.Map{"id": id})
}

// deliver dials the agent, sends the answer, and records the acknowledgment.
func (f *floor) deliver(id int, address string, answer []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	agent, _, err := websocket.Dial(ctx, address, nil)
	if err == nil {
		defer func() { _ = agent.CloseNow() }()
		err = agent.Write(ctx, websocket.MessageText, answer)
	}
	var ack []byte
	if err == nil {
		_, ack, err = agent.Read(ctx)
	}
	if err == nil {
		err = f.append(ack)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		return
	}
	f.send(fmt.Appendf(nil, `{"type":"status","data":{"id":%d,"humanInTheLoopStatus":{"delivery":{"state":"acked"}}}}`, id))
}

// stream is the connection of a page, which closes it.
func (f *floor) stream(c *fiberws.Conn) {
	_ = c.WriteMessage(fiberws.TextMessage, []byte("[]"))
	f.mu.Lock()
	f.pages[c] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.pages, c)
	}()
	for {
		if _, _, err := c.ReadMessage(); err != nil {
			return
		}
	}
}
