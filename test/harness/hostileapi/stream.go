//go:build unix

package hostileapi

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// stream is the answer to a watch: the changed events of the API server, and the events of invented objects.
type stream struct {
	server *Server
	call   localcluster.APICall
	body   io.ReadCloser

	mu   sync.Mutex
	news *sync.Cond
	// told contains events that the client has not read yet. ended is the reason for the end of the stream.
	told  bytes.Buffer
	ended error
}

// Watch is the hook for watches. See localcluster.APIProxy.HookWatches. It sends invented objects first, also to a watch that continues a
// list, because an object can be invented after the list.
func (s *Server) Watch(call localcluster.APICall, body io.ReadCloser) io.ReadCloser {
	st := &stream{server: s, call: call, body: body}
	st.news = sync.NewCond(&st.mu)
	s.mu.Lock()
	s.streams[st] = struct{}{}
	for k, o := range s.invented {
		if k.in(call) {
			st.tell(Object{"type": "ADDED", "object": o})
		}
	}
	s.mu.Unlock()
	go st.follow()
	return st
}

// follow passes on the API server's events until they end.
func (st *stream) follow() {
	events := json.NewDecoder(st.body)
	events.UseNumber()
	for {
		var event Object
		if err := events.Decode(&event); err != nil {
			st.end(err)
			return
		}
		if o, ok := event["object"].(Object); !ok || st.server.show(st.call.Resource, o) {
			st.tell(event)
		}
	}
}

func (st *stream) tell(event Object) {
	line := append(encode(event), '\n')
	st.mu.Lock()
	defer st.mu.Unlock()
	st.told.Write(line)
	st.news.Broadcast()
}

func (st *stream) end(why error) {
	st.server.mu.Lock()
	delete(st.server.streams, st)
	st.server.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended == nil {
		st.ended = why
	}
	st.news.Broadcast()
}

// Read waits for events.
func (st *stream) Read(b []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for st.told.Len() == 0 && st.ended == nil {
		st.news.Wait()
	}
	if st.told.Len() > 0 {
		return st.told.Read(b)
	}
	return 0, st.ended
}

// Close ends the watch.
func (st *stream) Close() error {
	st.end(io.EOF)
	return st.body.Close()
}
