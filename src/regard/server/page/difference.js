// Which tokens two outputs do not share, by their longest common subsequence.

export function difference(before, after) {
  const rows = before.length + 1;
  const columns = after.length + 1;
  const common = Array.from({ length: rows }, () => new Uint16Array(columns));
  for (let i = rows - 2; i >= 0; i--) {
    for (let j = columns - 2; j >= 0; j--) {
      common[i][j] =
        before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lost = new Set(before.keys());
  const gained = new Set(after.keys());
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lost.delete(i++);
      gained.delete(j++);
    } else if (common[i + 1][j + 1] === common[i][j]) {
      // one in the place of the other, where nothing is lost by seeing it so
      i++;
      j++;
    } else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return { lost, gained };
}
