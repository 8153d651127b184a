package livepage

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/internal/base/listen"
)

// Address is where a page is served, and who may look at it.
type Address struct {
	Listen string `json:"listen"` // HOST:PORT
	Token  string `json:"token"`  // "": everybody on this host may
}

// leastToken is the shortest token that is not guessed soon.
const leastToken = 12

// ErrToken says that a token cannot be used.
var ErrToken = fmt.Errorf("want at least %d letters and digits", leastToken)

// ParseAddress reads where a page is to be served: HOST:PORT, or :PORT for this host
// only. On other addresses a token is needed: without one it makes one.
func ParseAddress(at, token string) (*Address, error) {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, fmt.Errorf("-http %q: want an address like :8080 or 0.0.0.0:8080", at)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("-http %q: %q is no port: want a number from 0 to 65535", at, port)
	}
	if host == "" {
		if host, err = listen.Loopback(); err != nil {
			return nil, fmt.Errorf("-http %s: %w", at, err)
		}
	}
	if token != "" && (len(token) < leastToken || url.QueryEscape(token) != token) {
		return nil, ErrToken
	}
	a := &Address{Listen: net.JoinHostPort(host, port), Token: token}
	if token == "" && !a.Local() {
		a.Token = rand.Text()
	}
	return a, nil
}

func (a *Address) split() (host, port string) {
	host, port, err := net.SplitHostPort(a.Listen)
	if err != nil {
		return a.Listen, ""
	}
	return host, port
}

// Local reports whether the address is reached from this host only.
func (a *Address) Local() bool {
	host, _ := a.split()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// everywhere reports whether it is all addresses of this host.
func (a *Address) everywhere() bool {
	host, _ := a.split()
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

// On returns the address for another host, which is reached at that one: where a head
// that takes over serves the page. It is called there: a page for users of the host is
// at the loopback address that this host has.
func (a *Address) On(host string) *Address {
	b := *a
	if a.everywhere() {
		return &b
	}
	_, port := a.split()
	if a.Local() {
		local, err := listen.Loopback()
		if err != nil {
			return &b // to listen there says it
		}
		host = local
	}
	b.Listen = net.JoinHostPort(host, port)
	return &b
}

// URL is that of the page. A page on all addresses is reached at the given one, "" for
// the name of this host.
func (a *Address) URL(reached string) string {
	host, port := a.split()
	if a.everywhere() {
		if host = reached; host == "" {
			host, _ = os.Hostname()
		}
		if host == "" { // it has no name
			host = "localhost"
		}
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	if a.Token != "" {
		u.RawQuery = url.Values{"token": {a.Token}}.Encode()
	}
	return u.String()
}

var (
	errToken = errors.New("this page needs its token: open it with ?token=… as intrarun has printed it, or send it as a bearer token")
	errHost  = errors.New("this page is for this host: open it as localhost")
)

// allow says why a request may not be answered, nil if it may. Without a token it has
// to be for this host by name, since a page from elsewhere could have its own name lead
// here.
func (a *Address) allow(r *http.Request) error {
	if a.Token == "" {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if named := (&Address{Listen: net.JoinHostPort(strings.Trim(host, "[]"), "0")}); !named.Local() {
			return errHost
		}
		return nil
	}
	token, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bears {
		token = r.URL.Query().Get("token")
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(a.Token)) != 1 {
		return errToken
	}
	return nil
}

// AnyPort is the address with a free port.
func (a *Address) AnyPort() *Address {
	b := *a
	host, _ := a.split()
	b.Listen = net.JoinHostPort(host, "0")
	return &b
}
