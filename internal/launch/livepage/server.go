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

// Every is how often a server wants to be told of the job.
const Every = 500 * time.Millisecond

//go:embed page.html
var page []byte

// Job describes the job to those who look at it.
type Job struct {
	Program string   `json:"program"`
	Degrees []int    `json:"degrees"`
	Hosts   []string `json:"hosts"`  // where the head may be if it is lost here
	Others  []string `json:"others"` // the pages there, if they are reached from elsewhere
}

// Server serves the page of one job. Its methods may be called by any goroutine.
type Server struct {
	at     Address
	job    Job
	limits limits
	crowd  *crowd
	http   *http.Server

	mu      sync.Mutex
	model   Model
	streams int // that are open
	status  runreport.Status
	report  *runreport.Report // nil: nothing is known yet
	end     *end
	news    chan struct{} // closed when there is something new
}

// end is how the job has ended.
type end struct {
	Code   int               `json:"code"`
	Text   string            `json:"text"` // the report, for people
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
	_, port, _ := net.SplitHostPort(l.Addr().String()) // it is an address
	at.Listen = net.JoinHostPort(host, port)
	s := &Server{at: at, job: j, limits: limits, crowd: &crowd{most: limits.connections}, news: make(chan struct{})}
	s.http = &http.Server{Handler: s.handler(), ConnContext: s.crowd.enter, ConnState: s.crowd.change, MaxHeaderBytes: maxHeader,
		ReadTimeout: limits.request, WriteTimeout: limits.answer, IdleTimeout: limits.idle,
		ErrorLog: log.New(io.Discard, "", 0)} // errors of strangers do not concern the job
	go func() { _ = s.http.Serve(l) }() // until it is closed
	return s, nil
}

// maxHeader bounds the header of a request, in bytes.
const maxHeader = 16 << 10

// Address is where it is served, with the port that it has got.
func (s *Server) Address() Address { return s.at }

// Among tells those who look where the head may be if it is lost here.
func (s *Server) Among(hosts, pages []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job.Hosts, s.job.Others = hosts, pages
}

// Update tells what the job does now, and what its report would be.
func (s *Server) Update(status runreport.Status, r *runreport.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Take(&status, r)
	s.status, s.report = status, r
	s.wake()
}

// Tell tells of something that is in no report.
func (s *Server) Tell(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Events = append(s.model.Events, e)
	s.wake()
}

func (s *Server) wake() {
	close(s.news)
	s.news = make(chan struct{})
}

// endTime bounds how long those who look have to hear of the end.
const endTime = time.Second

// End tells of the end of the job, and ends the server.
func (s *Server) End(r *runreport.Report) {
	var text bytes.Buffer
	_ = r.Print(&text) // into memory
	s.mu.Lock()
	s.report, s.end = r, &end{r.ExitCode, text.String(), r}
	s.model.End(r)
	s.wake()
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if s.http.Shutdown(ctx) != nil { // somebody does not read
		s.Close()
	}
}

// Close ends the server at once.
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

// serveStatus answers with the status of the job, or of one process of it.
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
	_ = e.Encode(&status) // whoever has asked may be gone
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

// serveEvents sends what the page shows until the job ends: what is known of the job at
// first, then each event, and a frame whenever there is another one. Who reads slowly
// misses frames, and no events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !s.openStream() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d windows show this page already: close one, or ask for /status.json", s.limits.streams), http.StatusServiceUnavailable)
		return
	}
	defer s.closeStream()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the request is here, and the answer lasts as long as the job
	told, first := 0, true
	for {
		s.mu.Lock()
		news, over := s.news, s.end
		var b bytes.Buffer
		if first {
			event(&b, "job", struct {
				Job
				History []Sample `json:"history"`
			}{s.job, s.model.History})
			first = false
		}
		for _, e := range s.model.Events[told:] {
			event(&b, "event", e)
		}
		told = len(s.model.Events)
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
		case <-news:
		case <-r.Context().Done():
			return
		}
	}
}

// event writes one server-sent event.
func event(b *bytes.Buffer, kind string, x any) {
	text, err := json.Marshal(x)
	if err != nil {
		panic(fmt.Sprintf("livepage: %s: %v", kind, err)) // they are ours
	}
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", kind, text)
}
