package vary

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes a table for the user.
func (r *Result) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "digits that are left of each variable after %d safe points, by the worst of %d disturbed sets (intravary %s -seed %d):\n", r.SafePoints, len(r.Sets), r.Spec, r.Seed)
	fmt.Fprint(t, "variable\tnumbers\tdigits\tmean\tleast\tgrowth\tset\t\n")
	for i := range r.Variables {
		v := &r.Variables[i]
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%s\n", v.Name, v.Numbers, digits(v.Digits), digits(v.MeanDigits), digits(v.Least), times(v.Growth), v.Set, v.remark())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Sets {
		if _, err := fmt.Fprintln(w, &r.Sets[i]); err != nil {
			return err
		}
	}
	return nil
}

func digits(d *float64) string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *d)
}

func times(growth float64) string {
	if growth == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", growth)
}

// remark describes differences that digits do not show.
func (v *Variance) remark() string {
	switch {
	case v.Sizes:
		return "  has another size"
	case v.Unlike > 0:
		return fmt.Sprintf("  %d infinite or no numbers in one set only", v.Unlike)
	case v.Others > 0:
		return fmt.Sprintf("  %d values without digits differ", v.Others)
	case v.Numbers == 0:
		return "  same"
	}
	return ""
}

// String describes the outcome of a set.
func (s *Set) String() string {
	text := fmt.Sprintf("set %d: %d numbers disturbed", s.Set, s.Disturbed)
	if s.Held > 0 {
		text += fmt.Sprintf(", processes held %d times", s.Held)
	}
	if s.ExitCode != 0 {
		text += fmt.Sprintf("; exit code %d after %d safe points", s.ExitCode, s.SafePoints)
	}
	return text + s.Apart.String() + "; " + s.Printed.String()
}

// String describes where two sets begin to differ.
func (a *Apart) String() string {
	switch {
	case a == nil:
		return "; the same sections and safe points"
	case a.Undisturbed < 0:
		return fmt.Sprintf("; comes to safe point %d of rank %d, unlike the undisturbed set", a.SafePoint, a.Rank)
	case a.Sections < 0:
		return fmt.Sprintf("; does not come to safe point %d of rank %d, as the undisturbed set does", a.SafePoint, a.Rank)
	}
	return fmt.Sprintf("; apart since safe point %d of rank %d, with %d sections before it, not %d", a.SafePoint, a.Rank, a.Sections, a.Undisturbed)
}
