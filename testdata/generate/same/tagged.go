//go:build intra

package same

const tagged = true
