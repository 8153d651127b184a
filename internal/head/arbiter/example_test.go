package arbiter_test

import (
	"fmt"

	"github.com/intrahpc/intra/internal/head/arbiter"
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
