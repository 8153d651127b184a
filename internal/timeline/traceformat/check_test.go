package traceformat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const right = `{"displayTimeUnit":"ms","otherData":{"a":1},"traceEvents":[
{"name":"process_name","ph":"M","ts":0,"pid":1,"tid":0,"args":{"name":"p"}},
{"name":"thread_name","ph":"M","ts":0,"pid":1,"tid":1,"args":{"name":"t"}},
{"name":"a","cat":"c","ph":"X","ts":1,"dur":9,"pid":1,"tid":1,"args":{}},
{"name":"b","cat":"c","ph":"X","ts":2,"dur":2,"pid":1,"tid":1,"args":{}},
{"name":"d","cat":"c","ph":"B","ts":4,"pid":1,"tid":1},
{"ph":"E","ts":6,"pid":1,"tid":1},
{"name":"m","cat":"c","ph":"s","ts":2,"pid":1,"tid":1,"id":5},
{"name":"m","cat":"c","ph":"f","ts":5,"pid":1,"tid":1,"id":5,"bp":"e"},
{"name":"mem","ph":"C","ts":1,"pid":1,"tid":1,"args":{"x":3}},
{"name":"z","cat":"c","ph":"i","ts":50,"pid":1,"tid":1,"s":"t"}
]}`

// Each broken file violates one rule.
func TestCheck(t *testing.T) {
	f, err := Check([]byte(right))
	require.NoError(t, err)
	require.Len(t, f.Events, 10)
	for _, tt := range []struct{ from, to, want string }{
		{`"ms"`, `"hours"`, "displayTimeUnit"},
		{`"otherData"`, `"more"`, "unknown field"},
		{`]}`, `],]}`, "invalid character"},
		{`"ph":"X"`, `"ph":"Q"`, `phase "Q"`},
		{`"ts":1,`, ``, "no ts"},
		{`"ts":1,`, `"ts":-1,`, "ts is -1"},
		{`"name":"a"`, `"name":""`, "no name"},
		{`"dur":9,`, ``, "without dur"},
		{`"dur":9`, `"dur":-9`, "dur is -9"},
		{`"dur":9`, `"dur":2.5`, "overlaps"},
		{`"s":"t"`, `"s":"x"`, `scope "x"`},
		{`,"s":"t"`, ``, "without s"},
		{`"bp":"e"`, `"bp":"x"`, `bp "x"`},
		{`,"bp":"e"`, ``, "without bp"},
		{`"x":3`, `"x":"3"`, "counter x"},
		{`"ph":"C",`, `"ph":"C","dur":2,`, "has a field dur"},
		{`{"ph":"E","ts":6,"pid":1,"tid":1},`, ``, "without E"},
		{`{"name":"d","cat":"c","ph":"B","ts":4,"pid":1,"tid":1},`, ``, "without B"},
		{`"ts":5,"pid":1,"tid":1,"id":5`, `"ts":1.5,"pid":1,"tid":1,"id":5`, "before it begins"},
		{`"ts":5,"pid":1,"tid":1,"id":5`, `"ts":11,"pid":1,"tid":1,"id":5`, "in no slice"},
		{`"ts":5,"pid":1,"tid":1,"id":5`, `"ts":5,"pid":1,"tid":1,"id":6`, "has one end"},
		{`{"name":"m","cat":"c","ph":"f"`, `{"name":"n","cat":"c","ph":"f"`, "is m and n"},
		{`"name":"process_name"`, `"name":"processname"`, `metadata "processname"`},
		{`"name":"thread_name"`, `"name":"thread_sort_index"`, "without sort_index"},
		{`"tid":1,"args":{"name":"t"}`, `"tid":2,"args":{"name":"t"}`, "has no name"},
		{`{"name":"z","cat":"c","ph":"i","ts":50,"pid":1`, `{"name":"z","cat":"c","ph":"i","ts":50,"pid":2`, "tid 1 is one of"},
	} {
		require.Contains(t, right, tt.from)
		_, err := Check([]byte(strings.Replace(right, tt.from, tt.to, 1)))
		require.ErrorContains(t, err, tt.want, "%s", tt.to)
	}
}
