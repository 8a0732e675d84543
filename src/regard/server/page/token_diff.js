// The tokens that two outputs do not share, by their longest common subsequence.

export function tokenDiff(before, after) {
  const rows = before.length + 1;
  const columns = after.length + 1;
  const common = Array.from({ length: rows }, () => new Uint16Array(columns));
  for (let i = rows - 2; i >= 0; i--) {
    for (let j = columns - 2; j >= 0; j--) {
      common[i][j] =
        before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const removed = new Set(before.keys());
  const added = new Set(after.keys());
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      removed.delete(i++);
      added.delete(j++);
    } else if (common[i + 1][j + 1] === common[i][j]) {
      // count it as a substitution if the subsequence stays as long
      i++;
      j++;
    } else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return { removed, added };
}
