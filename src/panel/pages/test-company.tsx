import * as z from 'zod'
import { AdvanceDays, eraseTestData, moveTestClock } from '#commands/test-companies.ts'
import { formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import { getTestCompanyState, type TestCompanyState } from '#queries/test-companies.ts'
import type { Fields } from '../forms/form.ts'
import { integerInput } from '../forms/kinds.ts'
import type { PageContext, PanelRoute } from '../route.ts'
import { createTwin } from '../test-twin.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ButtonLink, Facts } from '../ui/parts.tsx'

const HOME = '/configuracoes'
const PATH = `${HOME}/teste`
const at = { section: 'settings', access: 'manage_company' } as const

const CLOCK: Fields = {
  advance_days: {
    label: 'Avançar a data em dias',
    kind: integerInput,
    isRequired: true,
    hint: 'Contas vencem e prazos expiram. A data só volta quando os dados são apagados.',
  },
}

const loadState = ({ readModel: { reader } }: PageContext) => getTestCompanyState(reader)

const Clock = ({ state, timezone }: { readonly state: TestCompanyState; readonly timezone: string }) => (
  <>
    <Facts
      facts={[
        ['Hora da empresa', formatDateTimeSeconds(state.now, timezone)],
        ['Dados apagados em', state.erased_at && formatDateTimeSeconds(state.erased_at, timezone)],
      ]}
    />
    <div class="actions">
      <ButtonLink to={`${PATH}/esvaziar`}>Apagar os dados de teste</ButtonLink>
    </div>
  </>
)

const Twin = ({ state }: { readonly state: TestCompanyState }) => (
  <p>
    {state.twin_id === null
      ? 'Crie uma empresa de teste com as configurações desta, sem cadastros: para experimentar integrações sem afetar os dados reais.'
      : 'Esta empresa já tem a sua empresa de teste. Entre nela como proprietário e escolha-a em Empresas.'}
  </p>
)

const Empty = z.strictObject({})
/** Required for test companies only. */
const Days = z.strictObject({ advance_days: AdvanceDays.optional() })

/** Test twin of a real company; clock and reset of a test company. */
export const testCompanyPages: readonly PanelRoute[] = [
  ...formPages({
    ...at,
    path: PATH,
    subject: loadState,
    title: () => 'Empresa de teste',
    label: ({ is_test, twin_id }) =>
      is_test ? 'Avançar a data' : twin_id === null ? 'Criar empresa de teste' : 'Entrar na empresa de teste',
    back: () => HOME,
    before: (state, { readModel: { timezone } }) =>
      state.is_test ? <Clock state={state} timezone={timezone} /> : <Twin state={state} />,
    fields: ({ is_test }): Fields => (is_test ? CLOCK : {}),
    schema: Days,
    async act(submission, { is_test }, { advance_days = 0 }) {
      if (is_test) return runAndRedirect(submission, moveTestClock, { advance_days }, { to: PATH, flash: 'relogio' })
      return (await createTwin(submission)) ?? { to: '/empresas', flash: 'empresa-de-teste' }
    },
  }),
  ...formPages({
    ...at,
    path: `${PATH}/esvaziar`,
    subject: loadState,
    title: () => 'Apagar os dados de teste',
    obstacle: ({ is_test }) => (is_test ? null : 'Esta é uma empresa real: os dados dela não podem ser apagados.'),
    label: 'Apagar os dados',
    isDangerous: true,
    back: () => PATH,
    intro: () => (
      <p>
        Serão apagados cadastros, vendas, contas e pedidos, e a data volta à real. Ficam a empresa, usuários, chaves,
        webhooks, lojas, formas de pagamento e o registro de auditoria.
      </p>
    ),
    fields: () => ({}),
    schema: Empty,
    act: (submission) => runAndRedirect(submission, eraseTestData, {}, { to: PATH, flash: 'esvaziada' }),
  }),
]
