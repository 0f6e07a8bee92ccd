import type { ReferencePage } from '#api/docs/docs-guides.tsx'
import { fromCents } from '#domain/money.ts'
import {
  limitOf,
  may,
  PERMISSIONS,
  type Permission,
  ROLE_PRESETS,
  ROLES,
  type RolePermissions,
} from '#domain/rights.ts'
import { changesRecords, mayOpen, permissionsFor } from '#panel/page-context.ts'
import type { PanelRoute } from '#panel/panel-route.ts'
import { limitText, PERMISSION_NAMES, ROLE_NAMES } from '#panel/words/message-words.ts'
import { RULES, type Rule } from '#queries/tables.ts'

const HEADER = `# Perfis de acesso e permissões

O que cada perfil pode, se a empresa não ajustou o perfil. Só \`owner\` não se ajusta. Chaves de API têm escopos em vez de perfis.
`

const HEADS = `${ROLES.map((role) => ` ${ROLE_NAMES[role]} |`).join('')}\n|---|---|${ROLES.map(() => '---|').join('')}\n`

function grantText(role: RolePermissions, permission: Permission): string {
  if (!may(role, permission)) return ''
  const limit = limitOf(role, permission)
  return limit === null ? 'sim' : limitText(limit)
}

const presetsOf = (textOf: (role: RolePermissions) => string): string =>
  ROLES.map((role) => ` ${textOf(ROLE_PRESETS[role])} |`).join('')

const needOf = (route: PanelRoute): string => {
  const codes = permissionsFor(route).map((permission) => `\`${permission}\``)
  return codes.join(', ') || (changesRecords(route) ? 'perfil que altera dados' : '')
}

const nameOf = (route: PanelRoute): string => `${'submit' in route ? 'POST' : 'GET'} ${route.path}`

/** Permissions by preset, routes of the panel by preset, and what of each table a role sees. */
export function permissionReference(routes: readonly PanelRoute[]): ReferencePage[] {
  const permissions = PERMISSIONS.map(
    (code) => `| \`${code}\`: ${PERMISSION_NAMES[code]} |${presetsOf((role) => grantText(role, code))}\n`,
  )
  const lines = routes.map(
    (route) =>
      `| \`${nameOf(route)}\` | ${needOf(route)} |${presetsOf((role) => (mayOpen(role, route) ? 'sim' : ''))}\n`,
  )
  const presets = `${HEADER}
## Permissões por perfil

| Permissão |${HEADS.replace('|---|---|', '|---|')}${permissions.join('')}
## Dados por perfil

Sem a permissão, o membro de um documento é \`(retido)\` e outra coluna fica vazia. Custos são nulos sem \`see_costs\`.
O conteúdo de eventos e mensagens só aparece a quem vê dados pessoais, custos, contas a pagar e todas as vendas.

${tablesSeen()}
[Páginas do painel por perfil](/docs/permissoes/paginas)
`
  const pages = `# Páginas do painel por perfil

Abaixo de \`/painel\`. Um registro que o perfil não vê é 404.

| Página | Exige |${HEADS}${lines.sort().join('')}`
  return [
    { path: '/docs/permissoes', lang: 'pt-BR', text: () => presets },
    { path: '/docs/permissoes/paginas', lang: 'pt-BR', text: () => pages },
  ]
}

/** Columns that a rule masks, and members of those that it does not hide whole. */
const maskedColumns = (masked: Rule['persons']): string[] =>
  Object.keys(masked?.columns ?? {}).flatMap(
    (column) => masked?.members?.[column]?.map((member) => `${column}.${member}`) ?? column,
  )

const rowsOf = ({ own, ownRollup }: Rule): 'all' | 'own' | 'own sums' | 'none' => {
  if (ownRollup) return 'own sums'
  return typeof own === 'string' ? own : 'own'
}

const ROWS = { all: '', own: 'as próprias linhas', 'own sums': 'somas das próprias vendas', none: 'nada' } as const

const restricted = (): [name: string, rule: Rule][] =>
  Object.entries<Rule>(RULES).filter(([, { own, ...masks }]) => own !== 'all' || Object.keys(masks).length > 0)

function tablesSeen(): string {
  const listed = (masked: Rule['persons']) =>
    maskedColumns(masked)
      .map((name) => `\`${name}\``)
      .join(', ')
  const rows = restricted().map(
    ([name, rule]) =>
      `| \`${name}\` | ${ROWS[rowsOf(rule)]} | ${listed(rule.persons)} | ${listed(rule.contents)} | ${rule.isPayable ? 'nada' : ''} |\n`,
  )
  const heads = ['Tabela', 'Sem `see_all_sales`', 'Sem dados pessoais', 'Conteúdo', 'Sem `see_payables`']
  return `| ${heads.join(' | ')} |\n|${heads.map(() => '---|').join('')}\n${rows.join('')}`
}

/** One line for each permission, route and masked table; a change of rights shows as a change of these lines. */
export function shapesOfPermissions(routes: readonly PanelRoute[]): string[] {
  const grantOf = (role: RolePermissions, code: Permission) => {
    const limit = limitOf(role, code)
    return may(role, code) ? [`${role.role}${limit === null ? '' : `<=${fromCents(limit)}`}`] : []
  }
  return [
    ...PERMISSIONS.map((code) => `permission ${code} ${ROLES.flatMap((role) => grantOf(ROLE_PRESETS[role], code))}`),
    ...routes
      .map((route) => `route ${nameOf(route)} ${permissionsFor(route)}${changesRecords(route) ? ' changes' : ''}`)
      .sort(),
    ...restricted().map(
      ([name, rule]) =>
        `table ${name} ${rowsOf(rule)} persons:${maskedColumns(rule.persons)} contents:${maskedColumns(rule.contents)}${rule.isPayable ? ' payable' : ''}`,
    ),
  ]
}
