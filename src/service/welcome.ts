/** Printed once the service answers: what is there, and the first things to try. */
export function welcome({ baseUrl, demo }: { baseUrl: string; demo: string | null }): void {
  const lines = ['', `  Tillbook answers on ${baseUrl}`, '']
  if (demo !== null) {
    lines.push(
      `  Demo companies, their API keys and users: ${demo}`,
      `  The panel, for their users: ${baseUrl}/painel`,
      '',
      '  Try, in another terminal:',
      `    KEY=$(node -p "JSON.parse(require('fs').readFileSync('${demo}')).companies[0].api_key")`,
      `    curl -s -H "Authorization: Bearer $KEY" ${baseUrl}/api/v1/me`,
      `    curl -s -H "Authorization: Bearer $KEY" '${baseUrl}/api/v1/catalog/items?limit=3'`,
      '    npm run -s demo          # the main job, step by step: a sale, its replay, its cancellation, the ledger',
      '',
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}
