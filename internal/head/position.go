package head

import "encoding/json"

// Position is where the output of a process stands, in the words of the driver.
// It is kept with decisions.
type Position = json.RawMessage
