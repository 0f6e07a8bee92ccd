/** Formats a record with one line per member, or a list with one line per record. */
export function formatAsText(result: object): string {
  if (!Array.isArray(result)) return columns(Object.entries(result).map(([name, value]) => [name, textOf(value)]))
  const [first] = result as object[]
  if (!first) return '(none)'
  // The first record may lack optional members.
  const names = [...new Set(result.flatMap((record: object) => Object.keys(record)))]
  const rows = result.map((record: Record<string, unknown>) => names.map((name) => textOf(record[name])))
  return columns([names, ...rows])
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function columns(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
