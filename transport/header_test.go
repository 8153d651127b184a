package transport_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// The wire form is fixed: another build of the program reads it.
func TestHeaderWireForm(t *testing.T) {
	h := transport.Header{
		Channel: transport.ChannelMessage, Kind: 0x11, Flags: 0x2233, Incarnation: 0x44556677, Size: 0x0000_0012_3456_789a,
		Args: [6]uint64{1, 2, 3, 4, 5, 0x8877665544332211},
	}
	var got [transport.HeaderSize]byte
	h.Encode(&got)
	want := []byte{
		2, 0x11, 0x33, 0x22, 0x77, 0x66, 0x55, 0x44,
		0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
		4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
	}
	require.Equal(t, want, got[:])
	var back transport.Header
	require.NoError(t, back.Decode(&got))
	require.Equal(t, h, back)
}

func TestHeaderRefuses(t *testing.T) {
	good := transport.Header{Channel: transport.ChannelSection}
	for _, test := range []struct {
		name   string
		change func(h *transport.Header)
	}{
		{"channel 0", func(h *transport.Header) { h.Channel = 0 }},
		{"channel 4", func(h *transport.Header) { h.Channel = 4 }},
		{"payload too large", func(h *transport.Header) { h.Size = transport.MaxPayload + 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := good
			test.change(&h)
			var b [transport.HeaderSize]byte
			h.Encode(&b)
			require.ErrorIs(t, new(transport.Header).Decode(&b), transport.ErrHeader)
		})
	}
	var b [transport.HeaderSize]byte
	good.Size = transport.MaxPayload
	good.Encode(&b)
	require.NoError(t, new(transport.Header).Decode(&b))
}

// A header that is accepted has the same bytes when it is encoded again: a
// header has one wire form.
func FuzzHeader(f *testing.F) {
	f.Add(make([]byte, transport.HeaderSize))
	f.Add(append([]byte{1, 7}, make([]byte, transport.HeaderSize)...))
	f.Add(bytes.Repeat([]byte{2}, transport.HeaderSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < transport.HeaderSize {
			return
		}
		in := [transport.HeaderSize]byte(b)
		var h transport.Header
		if err := h.Decode(&in); err != nil {
			require.ErrorIs(t, err, transport.ErrHeader)
			return
		}
		require.LessOrEqual(t, h.Size, uint64(transport.MaxPayload))
		var out [transport.HeaderSize]byte
		h.Encode(&out)
		require.Equal(t, in, out)
	})
}

func TestGather(t *testing.T) {
	payload := [][]byte{[]byte("abc"), nil, []byte("d"), []byte("efgh"), {}}
	require.EqualValues(t, 8, transport.Size(payload))
	for from := range 9 {
		for n := range 9 - from {
			dst := make([]byte, n)
			transport.Gather(dst, payload, from)
			require.Equal(t, "abcdefgh"[from:from+n], string(dst))
		}
	}
}
