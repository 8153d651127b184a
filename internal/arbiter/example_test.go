package arbiter_test

import (
	"fmt"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

func ExamplePlan() {
	members, text := arbiter.Plan([]arbiter.Peer{{ID: 1, Host: "login"}, {ID: 2, Host: "n1"}, {ID: 3, Host: "n2"}, {ID: 4, Host: "n3"}})
	fmt.Println(members, text)
	members, text = arbiter.Plan([]arbiter.Peer{{ID: 1, Host: "n1"}, {ID: 2, Host: "n1"}, {ID: 3, Host: "n2"}})
	fmt.Println(members, text)
	// Output:
	// [1 2 3] the job survives the loss of the head: its decisions are kept on login, n1 and n2
	// [1] losing the head on n1 ends the job: its decisions are kept on one host, because the job has 2 and surviving the loss takes 3
}

func ExampleState() {
	s := arbiter.NewState()
	for replica := range 2 {
		s.Apply(arbiter.Entry{Kind: arbiter.Placed, Process: job.Process{Rank: 0, Replica: replica}, Incarnation: 1, Node: arbiter.ID(2 + replica)})
	}
	for _, v := range s.Apply(arbiter.Entry{Kind: arbiter.Lost, Node: 3, Text: "last heard 0.7 s ago"}) {
		fmt.Println(v.Epoch, v.Process, v.Cause, v.Detail)
	}
	fmt.Println("0.0 is", s.Places[job.Process{}].Standing)
	// Output:
	// 1 0.1 host last heard 0.7 s ago
	// 0.0 is running
}
