import { RULES, type Rule } from '#queries/tables.ts'

const HEADER = `
## What of the tables a role sees

Of the rules in \`queries/tables.ts\`, by which every query reads. Other tables are shown alike to all roles that reach a page of them. A member of
\`doc\` reads \`(retido)\`, another column is empty. Costs are null in all answers without \`see_costs\`. Contents of any shape are
hidden from roles that lack personal data, \`see_costs\`, \`see_payables\` or \`see_all_sales\`.

| Table | Without \`see_all_sales\` | Without personal data | Contents | Without \`see_payables\` |
|---|---|---|---|---|
`

const hiddenIn = (masked: Rule['persons']): string =>
  Object.keys(masked?.columns ?? {})
    .flatMap((column) => masked?.members?.[column]?.map((member) => `${column}.${member}`) ?? column)
    .map((column) => `\`${column}\``)
    .join(', ')

const rowsOf = ({ own, ownRollup }: Rule): string => {
  if (ownRollup) return 'sums of own sales'
  if (own === 'none') return 'nothing'
  return own === 'all' ? '' : 'own rows'
}

/** Which role sees which column, as Markdown. */
export function tablesSeen(): string {
  const rules = Object.entries<Rule>(RULES).filter(
    ([, { own, ...masks }]) => own !== 'all' || Object.keys(masks).length > 0,
  )
  const lines = rules.map(
    ([name, rule]) =>
      `| \`${name}\` | ${rowsOf(rule)} | ${hiddenIn(rule.persons)} | ${hiddenIn(rule.contents)} | ${rule.isPayable ? 'nothing' : ''} |\n`,
  )
  return `${HEADER}${lines.join('')}`
}
