package livepage

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

const secret = "0123456789ab"

func TestParseAddress(t *testing.T) {
	for at, want := range map[string]struct {
		listen, url string
		token       bool
	}{
		":8080":           {"127.0.0.1:8080", "http://127.0.0.1:8080/", false},
		"localhost:80":    {"localhost:80", "http://localhost:80/", false},
		"[::1]:80":        {"[::1]:80", "http://[::1]:80/", false},
		"127.1.2.3:0":     {"127.1.2.3:0", "http://127.1.2.3:0/", false},
		"10.0.0.1:8080":   {"10.0.0.1:8080", "http://10.0.0.1:8080/?token=", true},
		"0.0.0.0:8080":    {"0.0.0.0:8080", "http://here:8080/?token=", true},
		"[::]:8080":       {"[::]:8080", "http://here:8080/?token=", true},
		"h1.example:8080": {"h1.example:8080", "http://h1.example:8080/?token=", true},
	} {
		a, err := ParseAddress(at, "")
		require.NoError(t, err, at)
		require.Equal(t, want.listen, a.Listen)
		require.Equal(t, want.url+a.Token, a.URL("here"))
		require.Equal(t, want.token, len(a.Token) > leastToken, at)
		a, err = ParseAddress(at, secret)
		require.NoError(t, err, at)
		require.Contains(t, a.URL("here"), "?token="+secret)
	}
	for at, want := range map[string]string{"8080": "want an address like :8080", "": "want an address", ":http": "no port", ":70000": "no port", ":-1": "no port", "::1:80": "want an address"} {
		_, err := ParseAddress(at, "")
		require.ErrorContains(t, err, want, at)
	}
	for _, token := range []string{"short", "with a space in it", "0123456789&x=y"} {
		_, err := ParseAddress(":80", token)
		require.ErrorIs(t, err, ErrToken, token)
		require.ErrorContains(t, err, "want at least 12 letters and digits")
	}
	a, _ := ParseAddress("0.0.0.0:1", "")
	b, _ := ParseAddress("0.0.0.0:1", "")
	require.NotEqual(t, a.Token, b.Token)
}

// The head that takes over is on another host, where a local address of this host is not
// valid.
func TestAddressOnAnotherHost(t *testing.T) {
	for at, want := range map[string]string{"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:80": "0.0.0.0:80", "10.0.0.1:80": "10.0.0.2:80", "h1:80": "10.0.0.2:80"} {
		a := &Address{Listen: at, Token: secret}
		require.Equal(t, &Address{Listen: want, Token: secret}, a.On("10.0.0.2"), at)
		require.Contains(t, a.On("10.0.0.2").AnyPort().Listen, ":0")
	}
}

// Without a token, only viewers on this host may open the page, and only by a name that no
// other host can have. With a token, every viewer that has it may.
func TestPageAccess(t *testing.T) {
	open, closed := &Address{Listen: "127.0.0.1:80"}, &Address{Listen: "0.0.0.0:80", Token: secret}
	for host, want := range map[string]error{"localhost:80": nil, "127.0.0.1:80": nil, "[::1]:80": nil, "localhost": nil,
		"evil.example:80": errHost, "10.0.0.1": errHost, "": errHost, "localhost.evil.example": errHost} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		require.Equal(t, want, open.allow(r), host)
		require.Equal(t, errToken, closed.allow(r), host)
	}
	for url, want := range map[string]error{"/?token=" + secret: nil, "/?token=" + secret + "x": errToken, "/?token=": errToken, "/": errToken} {
		require.Equal(t, want, closed.allow(httptest.NewRequest("GET", url, nil)), url)
	}
	for header, want := range map[string]error{"Bearer " + secret: nil, "Bearer x": errToken, secret: errToken} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		require.Equal(t, want, closed.allow(r), header)
	}
}
