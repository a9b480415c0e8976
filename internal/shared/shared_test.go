package shared_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/krmcat/krmcat/internal/shared"
)

var errDown = errors.New("down")

// TestWhoWorks has many callers ask at once, and one more later, and counts how often there is
// work.
func TestWhoWorks(t *testing.T) {
	t.Parallel()
	const callers = 20
	for name, c := range map[string]struct {
		keep, errors bool
		err          error
		first, all   int // for those who ask at once, and for all
	}{
		"an answer":                       {false, false, nil, 1, 2},
		"an answer that is kept":          {true, false, nil, 1, 1},
		"an error":                        {false, false, errDown, callers, callers + 1},
		"an error where answers are kept": {true, false, errDown, callers, callers + 1},
		"an error that is an answer":      {false, true, errDown, 1, 2},
		"an error that is kept":           {true, true, errDown, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := &shared.Calls[string, int]{Forget: !c.keep, Again: !c.errors}
				worked, release := 0, make(chan struct{})
				do := func() {
					got, err := calls.Do(t.Context(), "key", func() (int, error) {
						worked++ // never by two at once, as the race detector sees
						<-release
						return 7, c.err
					})
					if got != 7 || !errors.Is(err, c.err) {
						t.Errorf("got %d, %v", got, err)
					}
				}
				for range callers {
					go do()
				}
				synctest.Wait()
				if worked != 1 {
					t.Errorf("%d work at once", worked)
				}
				close(release)
				synctest.Wait()
				if worked != c.first {
					t.Errorf("worked %d times for those who asked at once, want %d", worked, c.first)
				}
				if do(); worked != c.all {
					t.Errorf("worked %d times for all, want %d", worked, c.all)
				}
			})
		})
	}
}

// TestGivingUp: who waits leaves when its own context ends, and takes over from one who works
// and gives up, whose error is its own.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			calls := &shared.Calls[int, string]{Again: again}
			enough := errors.New("enough")
			first, stopFirst := context.WithCancelCause(t.Context())
			gone, leave := context.WithCancelCause(t.Context())
			ask := func(ctx context.Context, answer string, want error) {
				got, err := calls.Do(ctx, 1, func() (string, error) {
					if ctx == first {
						<-ctx.Done()
						return "", context.Cause(ctx)
					}
					return answer, nil
				})
				if !errors.Is(err, want) || err == nil && got != "second" {
					t.Errorf("got %q, %v", got, err)
				}
			}
			go ask(first, "", enough)
			synctest.Wait()
			go ask(gone, "left", errDown)
			synctest.Wait()
			leave(errDown)
			synctest.Wait()
			go ask(t.Context(), "second", nil)
			synctest.Wait()
			stopFirst(enough)
			synctest.Wait()
			ask(t.Context(), "third", nil)
			ask(gone, "fourth", nil) // what is kept takes no time
			if _, err := calls.Do(gone, 2, func() (string, error) { return "", nil }); !errors.Is(err, errDown) {
				t.Errorf("who has given up worked: %v", err)
			}
		})
	}
}

// TestPanic: who waits for work that panics works itself.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := &shared.Calls[int, int]{}
		release := make(chan struct{})
		go func() {
			defer func() { _ = recover() }()
			_, _ = calls.Do(t.Context(), 1, func() (int, error) {
				<-release
				panic("first")
			})
		}()
		synctest.Wait()
		go func() {
			if got, err := calls.Do(t.Context(), 1, func() (int, error) { return 7, nil }); got != 7 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		}()
		synctest.Wait()
		close(release)
		synctest.Wait()
	})
}
