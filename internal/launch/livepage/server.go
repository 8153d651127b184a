package livepage

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// Every is the interval at which a server needs updates.
const Every = 500 * time.Millisecond

//go:embed page.html
var page []byte

// Job describes the job to viewers.
type Job struct {
	Program string   `json:"program"`
	Degrees []int    `json:"degrees"`
	Hosts   []string `json:"hosts"`  // other hosts on which the head may run after the loss of this one
	Others  []string `json:"others"` // URLs of the page on those hosts, unless the page is local
}

// Server serves the page of one job. Its methods are safe for concurrent use.
type Server struct {
	at     Address
	job    Job
	limits limits
	crowd  *crowd
	http   *http.Server

	mu      sync.Mutex
	model   Model
	streams int // number of open event streams
	status  runreport.Status
	report  *runreport.Report // nil: no update yet
	end     *end
	changed chan struct{} // closed and replaced when there is a new event or frame
}

// end is the end of the job.
type end struct {
	Code   int               `json:"code"`
	Text   string            `json:"text"` // the report as text
	Report *runreport.Report `json:"report"`
}

// Listen serves the page of a job.
func Listen(at Address, j Job) (*Server, error) { return listenWithin(at, j, usual) }

func listenWithin(at Address, j Job, limits limits) (*Server, error) {
	l, err := net.Listen("tcp", at.Listen)
	if err != nil {
		cure := ""
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			cure = "; -http :0 takes a free port"
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			cure = "; it is no address of this host, 0.0.0.0 stands for all of them"
		case errors.Is(err, syscall.EACCES):
			cure = "; take a port from 1024"
		}
		return nil, fmt.Errorf("serve the live page: %w%s", err, cure)
	}
	host, _ := at.split()
	_, port, _ := net.SplitHostPort(l.Addr().String()) // Addr is always an address
	at.Listen = net.JoinHostPort(host, port)
	s := &Server{at: at, job: j, limits: limits, crowd: &crowd{most: limits.connections}, changed: make(chan struct{})}
	s.http = &http.Server{Handler: s.handler(), ConnContext: s.crowd.enter, ConnState: s.crowd.change, MaxHeaderBytes: maxHeader,
		ReadTimeout: limits.request, WriteTimeout: limits.answer, IdleTimeout: limits.idle,
		ErrorLog: log.New(io.Discard, "", 0)} // protocol errors of clients do not concern the job
	go func() { _ = s.http.Serve(l) }() // until it is closed
	return s, nil
}

// maxHeader bounds the header of a request, in bytes.
const maxHeader = 16 << 10

// Address returns where the page is served, with the actual port.
func (s *Server) Address() Address { return s.at }

// Among sets the hosts on which the head may run after the loss of this one.
func (s *Server) Among(hosts, pages []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job.Hosts, s.job.Others = hosts, pages
}

// Update sets the current status of the job and its current report.
func (s *Server) Update(status runreport.Status, r *runreport.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Take(&status, r)
	s.status, s.report = status, r
	s.wake()
}

// Tell adds an event that no report contains.
func (s *Server) Tell(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Events = append(s.model.Events, e)
	s.wake()
}

func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// endTime bounds the time that viewers have to receive the end of the job.
const endTime = time.Second

// End sends the end of the job to the viewers, and stops the server.
func (s *Server) End(r *runreport.Report) {
	var text bytes.Buffer
	_ = r.Print(&text) // writing to memory cannot fail
	s.mu.Lock()
	s.report, s.end = r, &end{r.ExitCode, text.String(), r}
	s.model.End(r)
	s.wake()
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if s.http.Shutdown(ctx) != nil { // a viewer does not read its stream
		s.Close()
	}
}

// Close stops the server at once.
func (s *Server) Close() { _ = s.http.Close() }

func (s *Server) handler() http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&collector{s})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src http:; img-src data:")
		_, _ = w.Write(page)
	})
	mux.HandleFunc("GET /status.json", s.serveStatus)
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Referrer-Policy", "no-referrer") // the token is in the address
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if err := s.at.allow(r); err != nil {
			code := http.StatusForbidden
			if errors.Is(err, errToken) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				code = http.StatusUnauthorized
			}
			w.Header().Set("Connection", "close")
			http.Error(w, err.Error(), code)
			return
		}
		defer s.crowd.serving(r)()
		mux.ServeHTTP(w, r)
	})
}

// serveStatus answers with the status of the job, or of one of its processes.
func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	if name := r.URL.Query().Get("process"); name != "" {
		p, err := job.ParseProcess(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status.Processes = slices.DeleteFunc(slices.Clone(status.Processes), func(q runreport.ProcessStatus) bool { return q.Spare || q.Process != p })
	}
	status.Describe()
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(&status) // the client may have left
}

// openStream counts one more event stream and reports whether the limit allows it.
func (s *Server) openStream() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == s.limits.streams {
		return false
	}
	s.streams++
	return true
}

func (s *Server) closeStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
}

// serveEvents sends the content of the page until the job ends. It begins with a description
// of the job. It then sends each event, and a frame whenever there is a new one. A slow reader
// misses frames, but no events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !s.openStream() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d windows show this page already: close one, or ask for /status.json", s.limits.streams), http.StatusServiceUnavailable)
		return
	}
	defer s.closeStream()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the request has arrived, and the answer lasts as long as the job
	sent, first := 0, true
	for {
		s.mu.Lock()
		changed, over := s.changed, s.end
		var b bytes.Buffer
		if first {
			event(&b, "job", struct {
				Job
				History []Sample `json:"history"`
			}{s.job, s.model.History})
			first = false
		}
		for _, e := range s.model.Events[sent:] {
			event(&b, "event", e)
		}
		sent = len(s.model.Events)
		if s.report != nil {
			event(&b, "frame", &s.model.Frame)
		}
		s.mu.Unlock()
		if over != nil {
			event(&b, "end", over)
		}
		_ = out.SetWriteDeadline(time.Now().Add(s.limits.answer))
		if _, err := w.Write(b.Bytes()); err != nil || out.Flush() != nil || over != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// event writes one server-sent event.
func event(b *bytes.Buffer, kind string, x any) {
	text, err := json.Marshal(x)
	if err != nil {
		panic(fmt.Sprintf("livepage: %s: %v", kind, err)) // all values are from this package and can be encoded
	}
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", kind, text)
}
