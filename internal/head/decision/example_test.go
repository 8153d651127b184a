package decision_test

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

func ExampleState() {
	s := decision.NewState()
	for replica := range 2 {
		p := job.Process{Rank: 0, Replica: replica}
		s.Apply(decision.Entry{Kind: decision.Placed, Process: p, Incarnation: 1, Node: detect.ID(2 + replica), ID: p})
	}
	for _, v := range s.Apply(decision.Entry{Kind: decision.Lost, Node: 3, Text: "last heard 0.7 s ago"}) {
		fmt.Println(v.Epoch, v.Process, v.Cause, v.Detail)
	}
	fmt.Println("0.0 is", s.Places[job.Process{}].Status)
	// Output:
	// 1 0.1 host last heard 0.7 s ago
	// 0.0 is running
}
