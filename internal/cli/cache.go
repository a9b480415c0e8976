package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/cli/ui"
)

func (e *env) cacheCommand() *cli.Command {
	return &cli.Command{
		Name: "cache", Usage: "show what is cached on this machine, and remove what is not used",
		Description: `The cache holds artifacts from registries, programs, and unpacked images that run without a daemon. It
is $KRMCAT_CACHE_DIR, or krmcat in the user's cache directory. It may be removed at any time: what is
missing is fetched again.`,
		Subcommands: []*cli.Command{e.cacheViewCommand(), e.cachePruneCommand()},
		Action:      func(c *cli.Context) error { return e.noCommand(c) },
	}
}

// cacheView describes the cache, or what was removed from it.
type cacheView struct {
	Cache  string     `json:"cache"`
	Kinds  []kindView `json:"kinds"`
	Bytes  int64      `json:"bytes"`
	pruned string     // what was done; "" for cache view
}

type kindView struct {
	Kind    cachedir.Kind `json:"kind"`
	Entries int           `json:"entries"`
	Bytes   int64         `json:"bytes"`
	Oldest  string        `json:"oldest,omitempty"` // when the least recently used entry was used; RFC 3339
}

// newCacheView adds up the entries.
func newCacheView(dir string, entries []cachedir.Entry) cacheView {
	v := cacheView{Cache: dir, Kinds: []kindView{}}
	for _, kind := range cachedir.Kinds() {
		k := kindView{Kind: kind}
		var oldest time.Time
		for _, e := range entries {
			if e.Kind != kind {
				continue
			}
			k.Entries++
			k.Bytes += e.Size
			if !e.Used.IsZero() && (oldest.IsZero() || e.Used.Before(oldest)) {
				oldest = e.Used
			}
		}
		if !oldest.IsZero() {
			k.Oldest = oldest.UTC().Format(time.RFC3339)
		}
		v.Kinds = append(v.Kinds, k)
		v.Bytes += k.Bytes
	}
	return v
}

// Table implements ui.Tabler.
func (v cacheView) Table() ui.Table {
	what := map[cachedir.Kind]string{cachedir.Blobs: "from registries", cachedir.Programs: "programs", cachedir.Images: "unpacked images"}
	t := ui.Table{
		Facts:  [][2]string{{"cache", v.Cache}, {"size", sizeText(v.Bytes)}},
		Header: []string{"WHAT", "ENTRIES", "SIZE", "NOT USED SINCE"},
	}
	if v.pruned != "" {
		t.Facts[1][0] = v.pruned
	}
	for _, k := range v.Kinds {
		oldest := "-"
		if at, err := time.Parse(time.RFC3339, k.Oldest); err == nil {
			oldest = at.Format(time.DateOnly)
		}
		t.Rows = append(t.Rows, []string{what[k.Kind], strconv.Itoa(k.Entries), sizeText(k.Bytes), oldest})
	}
	return t
}

// sizeText formats a number of bytes: 12 B, 3.4 MiB.
func sizeText(n int64) string {
	const step = 1024
	size, unit := float64(n), 0
	for size >= step && unit < 4 {
		size /= step
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit-1])
}

func (e *env) cacheViewCommand() *cli.Command {
	o := &outputCall{}
	return &cli.Command{
		Name: "view", Usage: "show what is in the cache, and its size",
		Flags: o.flags(ui.Data()),
		Action: func(c *cli.Context) error {
			entries, err := e.cached(c)
			if err != nil {
				return err
			}
			return e.show(c, o, newCacheView(e.cacheDir(), entries))
		},
	}
}

// cached lists the entries of the cache, for a command without arguments.
func (e *env) cached(c *cli.Context) ([]cachedir.Entry, error) {
	if c.NArg() > 0 {
		return nil, usage(c, "%s takes no arguments", c.Command.HelpName)
	}
	if e.cacheDir() == "" {
		return nil, usage(c, "there is no cache: neither KRMCAT_CACHE_DIR nor HOME says where it is")
	}
	return cachedir.List(c.Context, e.cacheDir())
}

// prunedAfter is the default age of unused entries that prune removes.
const prunedAfter = "30d"

func (e *env) cachePruneCommand() *cli.Command {
	var age string
	o := &outputCall{}
	var dry bool
	return &cli.Command{
		Name: "prune", Usage: "remove what has not been used for some time",
		Description: `What a running render uses is kept, unless --unused-for is shorter than the render takes: uses are
recorded to the hour.`,
		Flags: slices.Concat(grouped(groupInput,
			&cli.StringFlag{Name: "unused-for", Value: prunedAfter, Usage: "remove what has not been used for this `TIME`, like 12h or 30d; 0 removes everything", Destination: &age},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be removed", Destination: &dry},
		), o.flags(ui.Data())),
		Action: func(c *cli.Context) error {
			unused, err := parseAge(age)
			if err != nil {
				return usage(c, "--unused-for: %v", err)
			}
			entries, err := e.cached(c)
			if err != nil {
				return err
			}
			gone, failed := prune(entries, unused, dry)
			v := newCacheView(e.cacheDir(), gone)
			v.pruned = "removed"
			if dry {
				v.pruned = "to be removed"
			}
			return errors.Join(e.show(c, o, v), failed)
		},
	}
}

// prune removes entries that were not used for some time, or only lists them. An entry that cannot
// be removed does not stop it.
func prune(entries []cachedir.Entry, unused time.Duration, dry bool) (gone []cachedir.Entry, err error) {
	var failed []error
	for _, entry := range entries {
		if unused > 0 && time.Since(entry.Used) < unused {
			continue
		}
		if !dry {
			removed, err := entry.Remove()
			if err != nil {
				failed = append(failed, fmt.Errorf("removing from the cache: %w", err))
			}
			if !removed || err != nil {
				continue
			}
		}
		gone = append(gone, entry)
	}
	return gone, errors.Join(failed...)
}

// parseAge parses a duration, whose unit may also be d for days.
func parseAge(text string) (time.Duration, error) {
	const day, most = 24 * time.Hour, 100 * 365
	wrong := fmt.Errorf("%q is not a duration: write one like 12h or 30d", text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > most {
			return 0, wrong
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return d, nil
}
