import { z } from 'zod'
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
    label: 'Adiantar o relógio em dias',
    kind: integerInput,
    isRequired: true,
    hint: 'Contas vencem e prazos passam. Ele só volta quando a empresa é esvaziada.',
  },
}

const loadState = ({ readModel: { pool, companyId } }: PageContext) => getTestCompanyState(pool, companyId)

const Clock = ({ state, timezone }: { readonly state: TestCompanyState; readonly timezone: string }) => (
  <>
    <Facts
      facts={[
        ['Hora da empresa', formatDateTimeSeconds(state.now, timezone)],
        ['Esvaziada em', state.erased_at && formatDateTimeSeconds(state.erased_at, timezone)],
      ]}
    />
    <div class="actions">
      <ButtonLink to={`${PATH}/esvaziar`}>Esvaziar a empresa de teste</ButtonLink>
    </div>
  </>
)

const Twin = ({ state }: { readonly state: TestCompanyState }) => (
  <p>
    {state.twin_id === null
      ? 'Crie uma empresa de teste com as configurações desta, sem cadastros: para experimentar integrações sem tocar em nada de verdade.'
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
      is_test ? 'Adiantar o relógio' : twin_id === null ? 'Criar empresa de teste' : 'Entrar na empresa de teste',
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
    title: () => 'Esvaziar a empresa de teste',
    obstacle: ({ is_test }) => (is_test ? null : 'Esta empresa é de verdade: nada dela pode ser apagado assim.'),
    label: 'Esvaziar',
    isDangerous: true,
    back: () => PATH,
    intro: () => (
      <p>
        Cadastros, vendas, contas e pedidos somem, e o relógio volta à hora certa. Ficam a empresa, usuários, chaves,
        webhooks, lojas e formas de pagamento; o livro guarda o que houve.
      </p>
    ),
    fields: () => ({}),
    schema: Empty,
    act: (submission) => runAndRedirect(submission, eraseTestData, {}, { to: PATH, flash: 'esvaziada' }),
  }),
]
