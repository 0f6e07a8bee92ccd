import * as z from 'zod'
import type { Membership } from '#access/company-users.ts'
import { hashPassword } from '#access/passwords.ts'
import {
  AdvanceDays,
  deleteCompanyLogo,
  eraseTestData,
  makeTestTwin,
  moveTestClock,
  type RegisterCompanyInput,
  registerCompany,
  setCompanyLogo,
  updateCompany,
} from '#commands/company-commands.ts'
import { type CreatePaymentTypeInput, createPaymentType } from '#commands/store-commands.ts'
import { createUser } from '#commands/user-commands.ts'
import { uploadedLogo } from '#domain/images.ts'
import { formatDateTimeSeconds, formatPhone } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { Id } from '#domain/text.ts'
import { Problem } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { nextCompanyId } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { PaymentTypeObject } from '#projections/stores.ts'
import type { UserObject } from '#projections/users.ts'
import { getTestCompanyState, listPaymentTypes, listUsers, type TestCompanyState } from '#queries/company-queries.ts'
import { getRow } from '#queries/event-queries.ts'
import { COMPANY_FIELDS } from '#records/company-settings.ts'
import { wholeShape } from '#records/field.ts'
import {
  choiceInput,
  cityName,
  colorInput,
  integerInput,
  namedOptions,
  recordChoiceInput,
  zoneInput,
} from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { FIRST_STEPS_PATH } from '../page-context.ts'
import type { FormRoute, FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { fieldFacts, fieldInputs } from '../record-fields.ts'
import { buttonRoute, formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ButtonLink, Card, Facts } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { PictureForm, PictureProblem, uploadPicture } from '../ui/picture-form.tsx'
import { loadPaymentTypes, PAYMENT_TYPES_PATH, PaymentTypeTable } from './payment-type-pages.tsx'
import { ROLES_PATH } from './role-pages.tsx'
import { USERS_PATH, UserTable } from './user-pages.tsx'

const SETTINGS = '/configuracoes'
const LOGO = `${SETTINGS}/logotipo`

export async function loadCompany({ readModel }: PageContext): Promise<CompanyObject | null> {
  return (await getRow(readModel.reader, 'company', readModel.companyId)) as CompanyObject | null
}

/** Site of a logo that was not uploaded; null without one. */
export const toLogoOrigin = (company: CompanyObject | null): string | null =>
  !company?.logo_url || uploadedLogo(company.logo_url) ? null : new URL(company.logo_url).origin

/** Head of a receipt: what the shop says of itself. */
export const ShopHead = ({
  company: { name, cnpj, address, phone, logo_url },
}: {
  readonly company: CompanyObject
}) => (
  <header class="shop">
    {logo_url && <img src={logo_url} alt="" class="logo" referrerpolicy="no-referrer" />}
    <p class="brand">{name}</p>
    <p>CNPJ {cnpj}</p>
    {address && <p>{address}</p>}
    {phone && <p>{formatPhone(phone)}</p>}
  </header>
)

interface BrandProps {
  readonly visit: PageContext
  readonly company: CompanyObject
  readonly refusal?: Refusal
}

/** Logo and colour of the shop, with the form that changes the logo; the colour is a field of the company. */
const BrandCard = ({ visit, company: { name, logo_url, brand_color }, refusal }: BrandProps) => {
  const uploaded = uploadedLogo(logo_url)
  const isOpen = !visit.readModel.moment && visit.reaches('POST', LOGO)
  return (
    <Card title="Marca">
      {refusal && <PictureProblem what="O logotipo" refusal={refusal} />}
      {uploaded !== null && <img class="picture" src={uploaded} alt={`Logotipo de ${name}`} width="240" />}
      <Facts
        facts={[
          [
            'Logotipo',
            logo_url === uploaded ? null : (
              <a key="logo" href={logo_url ?? ''} rel="noreferrer">
                {logo_url}
              </a>
            ),
          ],
          ['Cor', brand_color && <Swatch color={brand_color} />],
        ]}
      />
      {isOpen && (
        <PictureForm
          visit={visit}
          to={LOGO}
          noun="logotipo"
          hint="Aparece no painel, nos recibos, nos e-mails, na página de pagamento e nos caixas."
          hasPicture={logo_url !== null}
        />
      )}
    </Card>
  )
}

const Swatch = ({ color }: { readonly color: string }) => (
  <>
    <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">
      <rect width="1" height="1" fill={color} />
    </svg>{' '}
    {color}
  </>
)

async function upload(submission: FormSubmission) {
  const company = await loadCompany(submission)
  if (company === null) return null
  return uploadPicture(submission, {
    set: (content) => runAndRedirect(submission, setCompanyLogo, { content }, { to: SETTINGS, flash: 'marca' }),
    refused: (refusal) => ({
      title: 'Logotipo',
      parent: { label: 'Configurações', to: SETTINGS },
      body: <BrandCard visit={submission} company={company} refusal={refusal} />,
    }),
  })
}

const changingBrand = { section: 'settings', access: 'manage_company' } as const

export const brandForms: readonly FormRoute[] = [
  { ...changingBrand, path: LOGO, takesFile: true, submit: upload },
  buttonRoute<CompanyObject>({
    ...changingBrand,
    path: `${LOGO}/excluir`,
    subject: loadCompany,
    act: (submission) => runAndRedirect(submission, deleteCompanyLogo, {}, { to: SETTINGS, flash: 'marca-excluida' }),
  }),
]

const PATH = '/configuracoes'
const USERS = 200
const at = { section: 'settings', access: 'see_company' } as const
const changing = { ...at, access: 'manage_company' } as const

/** Plan and CNPJ belong to the operator; the logo has a form of its own. */
const { plan: _, cnpj: __, logo_url: ___, ...WRITTEN } = COMPANY_FIELDS

/** Includes the company's present zone. */
const fieldsFor = (timezone: string): Fields =>
  fieldInputs(WRITTEN, {
    name: {},
    state_registration: {},
    tax_regime: { kind: choiceInput(namedOptions(WRITTEN.tax_regime.names), 'Não informado') },
    business_type: { kind: choiceInput(namedOptions(WRITTEN.business_type.names), 'Não informado') },
    timezone: { kind: zoneInput(timezone) },
    address: {},
    phone: {},
    pix_key: {},
    pix_city: {},
    voucher_days: {},
    brand_color: { kind: colorInput },
  })

const CompanyForm = z.strictObject(wholeShape(WRITTEN))

/** Logo and colour are shown apart. */
const { logo_url: ____, brand_color: _____, ...SHOWN } = COMPANY_FIELDS

async function showSettings(visit: PageContext): Promise<PanelPage | null> {
  const { reader } = visit.readModel
  const [company, paymentTypes, page] = await Promise.all([
    loadCompany(visit),
    loadPaymentTypes(visit),
    listUsers(reader, { limit: USERS }),
  ])
  if (!company) return null
  const users = recordsOnPage<UserObject>(page)
  const body = (
    <>
      <Card
        title="Empresa"
        aside={
          <>
            <ButtonLink to={FIRST_STEPS_PATH}>Primeiros passos</ButtonLink>
            <ButtonLink to={`${PATH}/empresa`}>Editar</ButtonLink>
          </>
        }
      >
        <Facts
          facts={fieldFacts(SHOWN, company, visit.readModel.timezone, [
            'name',
            'cnpj',
            'state_registration',
            'tax_regime',
            'business_type',
            'address',
            'phone',
            'pix_key',
            'pix_city',
            'voucher_days',
            ['timezone', cityName(company.timezone)],
            'plan',
          ])}
        />
      </Card>
      <BrandCard visit={visit} company={company} />
      <Card title="Empresa de teste" aside={<ButtonLink to={`${PATH}/teste`}>Abrir</ButtonLink>}>
        <p>
          {company.test
            ? 'Esta é uma empresa de teste: é possível avançar a data e apagar os dados.'
            : 'Uma empresa à parte, para experimentar integrações sem afetar os dados reais.'}
        </p>
      </Card>
      <Card
        title="Formas de pagamento"
        aside={<ButtonLink to={`${PAYMENT_TYPES_PATH}/nova`}>Nova forma de pagamento</ButtonLink>}
      >
        <PaymentTypeTable paymentTypes={paymentTypes} timezone={visit.readModel.timezone} />
      </Card>
      <Card
        title="Usuários"
        aside={
          <>
            <ButtonLink to={ROLES_PATH}>Perfis de acesso</ButtonLink>
            <ButtonLink to={`${USERS_PATH}/novo`}>Convidar usuário</ButtonLink>
          </>
        }
      >
        {await UserTable({ visit, users })}
      </Card>
    </>
  )
  return { title: 'Configurações', body }
}

/** Company data, payment types and users. */
export const settingsPages: readonly PanelRoute[] = [
  { ...at, path: PATH, show: showSettings },
  ...formPages({
    ...changing,
    path: `${PATH}/empresa`,
    subject: loadCompany,
    title: () => 'Editar empresa',
    before: ({ cnpj }) => <p>{`CNPJ ${cnpj}. Para corrigir o CNPJ, fale com o suporte.`}</p>,
    label: 'Salvar',
    back: () => PATH,
    fields: ({ timezone }) => fieldsFor(timezone),
    initial: (company) => company,
    schema: CompanyForm,
    act: (submission, _company, input) =>
      runAndRedirect(submission, updateCompany, input, { to: PATH, flash: 'alterado' }),
  }),
]

/** The person's session goes on as another one, in the company that was chosen. */
async function open(
  { context, session }: FormSubmission,
  memberships: readonly Membership[],
  companyId: number,
): Promise<Redirect | Refusal> {
  const chosen = memberships.find(({ user }) => user.company_id === companyId)
  if (!chosen) return refuseField('company_id', 'não é uma das suas empresas')
  if (companyId === session.companyId) return { to: '/' }
  const { login, sessions } = context.access
  const limited = await login.admit(chosen)
  if (limited) throw new Problem('rate_limited', undefined, { 'Retry-After': String(limited.retryAfter) })
  const issued = await sessions.exchange(session, chosen.holder)
  // Null: ended meanwhile, by a new password or by the same form sent twice. The start page asks for the login if there is no other session.
  return issued ? { to: '/', issued } : { to: '/' }
}

/** Companies of a person who belongs to several, to switch between them. */
export const companyPages: readonly PanelRoute[] = formPages({
  path: '/empresas',
  changes: false,
  section: 'profile',
  subject: ({ context, session }) => context.access.login.membershipsOf(session.email),
  title: () => 'Escolher a empresa',
  label: 'Abrir',
  back: () => '/',
  fields: (memberships) => {
    const options = memberships.map(({ companyName, user }) => ({ value: String(user.company_id), label: companyName }))
    return { company_id: { label: 'Empresa', kind: recordChoiceInput(options), isRequired: true, columns: 12 } }
  },
  initial: (_memberships, { session }) => ({ company_id: session.companyId }),
  schema: z.object({ company_id: Id }),
  act: (submission, memberships, { company_id }) => open(submission, memberships, company_id),
})

const HOME = '/configuracoes'
const TEST_PATH = `${HOME}/teste`
const inTestCompany = { section: 'settings', access: 'manage_company' } as const

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
      <ButtonLink to={`${TEST_PATH}/esvaziar`}>Apagar os dados de teste</ButtonLink>
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
    ...inTestCompany,
    path: TEST_PATH,
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
      if (is_test)
        return runAndRedirect(submission, moveTestClock, { advance_days }, { to: TEST_PATH, flash: 'relogio' })
      return (await createTwin(submission)) ?? { to: '/empresas', flash: 'empresa-de-teste' }
    },
  }),
  ...formPages({
    ...inTestCompany,
    path: `${TEST_PATH}/esvaziar`,
    subject: loadState,
    title: () => 'Apagar os dados de teste',
    obstacle: ({ is_test }) => (is_test ? null : 'Esta é uma empresa real: os dados dela não podem ser apagados.'),
    label: 'Apagar os dados',
    isDangerous: true,
    back: () => TEST_PATH,
    intro: () => (
      <p>
        Serão apagados cadastros, vendas, contas e pedidos, e a data volta à real. Ficam a empresa, usuários, chaves,
        webhooks, lojas, formas de pagamento e o registro de auditoria.
      </p>
    ),
    fields: () => ({}),
    schema: Empty,
    act: (submission) => runAndRedirect(submission, eraseTestData, {}, { to: TEST_PATH, flash: 'esvaziada' }),
  }),
]

/** Company names have at most 120 characters. */
const NAME = 110

/**
 * Creates the test twin of the owner's company, or continues an interrupted creation, and adds the user to it as an
 * owner. Each part is created only if it is missing.
 */
async function createTwin(submission: FormSubmission): Promise<Refusal | null> {
  const { context, session, primary } = submission
  const { companyId } = session
  const noted = await submission.run(makeTestTwin, { twin_id: await nextCompanyId(context.reads.pool) })
  if (isRefusal(noted)) return noted
  const twinId = (await getTestCompanyState(primary))?.twin_id
  const company = (await getRow(primary, 'company', companyId)) as CompanyObject | null
  if (!twinId || !company) throw new Error(`test twin: company ${companyId} has none although makeTestTwin succeeded`)
  await copySettings(submission, twinId, company)
  const password_hash = await hashPassword(context.environment.newSecret())
  const owner = { name: session.userName, email: session.email, role: 'owner' as const, password_hash }
  const joined = await runAsSystem<object>(context.writer, twinId, createUser, owner)
  return isRefusal(joined) && joined.refused !== 'duplicate_resource' ? joined : null
}

/** Payment types copied to a twin; a shop has fewer. */
const MOST_COPIED = 200

/** Copies the company's present settings and payment types to the twin. */
async function copySettings(
  { context, primary }: FormSubmission,
  twinId: number,
  company: CompanyObject,
): Promise<void> {
  const run = async <I,>(command: Command<I>, input: I) => {
    const answer = await runAsSystem<object>(context.writer, twinId, command, input)
    if (answer && isRefusal(answer) && answer.refused !== 'duplicate_resource')
      throw new Error(`test twin ${twinId}: a command was refused: ${answer.refused}`)
  }
  const { created_at: _, test: __, id: ___, ...settings } = company
  await context.installation.found(twinId)
  await run<RegisterCompanyInput>(registerCompany, {
    ...settings,
    id: twinId,
    name: `${company.name.slice(0, NAME)} (teste)`,
    test: true,
  })
  const { data } = await listPaymentTypes(primary, MOST_COPIED)
  // That of orders is made with a store.
  for (const { id: _, is_cash: __, accepts_api: ___, reason: ____, kind, ...fields } of JSON.parse(
    `[${data}]`,
  ) as PaymentTypeObject[])
    if (kind !== 'online') await run<CreatePaymentTypeInput>(createPaymentType, { ...fields, kind })
}
