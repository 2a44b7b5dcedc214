/**
 * Does a topic's name match a pattern, whole and case by case? `*` stands for any characters, `?` for one; every other
 * character stands for itself. Takes time in proportion to the two lengths multiplied, whatever the pattern.
 */
export function matchesTopicPattern(pattern: string, topic: string): boolean {
  let p = 0;
  let t = 0;
  // Where to go on after the last star: it takes one character more each time the rest fails.
  let star = -1;
  let starTopic = 0;
  while (t < topic.length) {
    if (pattern[p] === '*') {
      star = p++;
      starTopic = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === topic[t])) {
      p++;
      t++;
    } else if (star !== -1) {
      p = star + 1;
      t = ++starTopic;
    } else {
      return false;
    }
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/** A pattern without `*` and `?` names one topic. */
export function isTopicPattern(pattern: string): boolean {
  return pattern.includes('*') || pattern.includes('?');
}
