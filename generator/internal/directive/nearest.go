package directive

import "strings"

// Nearest returns the one of words that a person most likely meant by word, or "" where none is near: for "did you
// mean". Case does not count, and neither do dashes in front.
func Nearest(word string, words []string) string {
	word = strings.ToLower(strings.TrimLeft(strings.TrimSpace(word), "-"))
	best, bestDistance := "", 0
	for _, w := range words {
		d := distance(word, strings.ToLower(w))
		shorter := min(len(word), len(w))
		if shorter >= 3 && (strings.HasPrefix(w, word) || strings.HasPrefix(word, w)) {
			d = min(d, 1) // an abbreviation, or the word with something behind it
		}
		if d > max(1, shorter/3) || word == "" {
			continue
		}
		if best == "" || d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

// distance is the number of single-character edits between a and b, where two neighbours changing places is one edit
// (the optimal string alignment distance).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}

// didYouMean is the hint for an unknown word: the nearest of words if one is near, else all of them.
func didYouMean(word string, words []string) string {
	if near := Nearest(word, words); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are: " + strings.Join(words, ", ")
}
