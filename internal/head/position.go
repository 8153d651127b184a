package head

import "encoding/json"

// Position is a position in the output of a process, in a form that only the driver knows.
// It is kept with decisions.
type Position = json.RawMessage
