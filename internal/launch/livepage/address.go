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

// Address is the address of a page, and the token that a viewer needs.
type Address struct {
	Listen string `json:"listen"` // HOST:PORT
	Token  string `json:"token"`  // "": no token is needed, and every user of this host has access
}

// leastToken is the minimal length of a token. Shorter ones are too easy to guess.
const leastToken = 12

// ErrToken means that a token cannot be used.
var ErrToken = fmt.Errorf("want at least %d letters and digits", leastToken)

// ParseAddress parses the address of a page: HOST:PORT, or :PORT for this host only. Other
// addresses need a token. If none is given, ParseAddress makes one.
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

// Local reports whether the address is reachable from this host only.
func (a *Address) Local() bool {
	host, _ := a.split()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// everywhere reports whether the address stands for all addresses of this host.
func (a *Address) everywhere() bool {
	host, _ := a.split()
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

// On returns the address for serving the page on another host. A successor of the head serves
// it there. host is the address at which that host is reached. On must be called on that host:
// for a local page it uses the loopback address of the host itself.
func (a *Address) On(host string) *Address {
	b := *a
	if a.everywhere() {
		return &b
	}
	_, port := a.split()
	if a.Local() {
		local, err := listen.Loopback()
		if err != nil {
			return &b // listening there reports the error
		}
		host = local
	}
	b.Listen = net.JoinHostPort(host, port)
	return &b
}

// URL returns the URL of the page. reached is the host name or address to use if the page is
// served on all addresses; "" means the name of this host.
func (a *Address) URL(reached string) string {
	host, port := a.split()
	if a.everywhere() {
		if host = reached; host == "" {
			host, _ = os.Hostname()
		}
		if host == "" { // the host has no name
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

// allow returns why a request may not be answered, or nil if it may. Without a token, the
// request must name this host: a foreign page could make its own host name resolve to this
// host.
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

// AnyPort returns the address with any free port.
func (a *Address) AnyPort() *Address {
	b := *a
	host, _ := a.split()
	b.Listen = net.JoinHostPort(host, "0")
	return &b
}
