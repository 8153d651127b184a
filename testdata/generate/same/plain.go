//go:build !intra

package same

// Tagged tells whether sections are rewritten in this build.
const Tagged = false
