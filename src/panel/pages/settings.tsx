import * as z from 'zod'
import { companyShape, updateCompany } from '#commands/companies.ts'
import { formatPhone } from '#domain/brazilian-format.ts'
import type { UserObject } from '#projections/users.ts'
import { listUsers } from '#queries/users.ts'
import type { Fields } from '../forms/form.ts'
import { choiceInput, colorInput, lineInput, namedOptions } from '../forms/kinds.ts'
import type { PageContext, PanelPage, PanelRoute } from '../route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { recordsOnPage } from '../ui/list.tsx'
import { ButtonLink, Card, Facts } from '../ui/parts.tsx'
import { PLAN_NAMES, TAX_REGIME_NAMES } from '../words/values.ts'
import { BrandCard, companyOf } from './brand.tsx'
import { PAYMENT_TYPES_PATH, PaymentTypeTable, paymentTypesOf } from './payment-types.tsx'
import { ROLES_PATH } from './roles.tsx'
import { USERS_PATH, UserTable } from './users.tsx'

const PATH = '/configuracoes'
const USERS = 200
const at = { section: 'settings', access: 'see_company' } as const
const changing = { ...at, access: 'manage_company' } as const

/** Brazilian zones first. */
const ZONES = [
  ...new Set([
    'America/Sao_Paulo',
    ...Intl.supportedValuesOf('timeZone').filter((zone) =>
      /^America\/(Araguaina|Bahia|Belem|Boa_Vista|Campo_Grande|Cuiaba|Eirunepe|Fortaleza|Maceio|Manaus|Noronha|Porto_Velho|Recife|Rio_Branco|Santarem)$/.test(
        zone,
      ),
    ),
  ]),
]

/** Includes the company's present zone. */
const fieldsFor = (timezone: string): Fields => ({
  name: { label: 'Nome', kind: lineInput, isRequired: true },
  state_registration: {
    label: 'Inscrição estadual',
    kind: lineInput,
    hint: 'Só os números contam; ISENTO, se isenta.',
  },
  tax_regime: { label: 'Regime tributário', kind: choiceInput(namedOptions(TAX_REGIME_NAMES), 'Não informado') },
  timezone: {
    label: 'Fuso horário',
    kind: choiceInput(
      [...new Set([timezone, ...ZONES])].map((value) => ({
        value,
        label: value.replace('America/', '').replaceAll('_', ' '),
      })),
    ),
    isRequired: true,
    hint: 'Decide quando começam os dias da empresa e que horas são mostradas.',
  },
  address: {
    label: 'Endereço da loja',
    kind: lineInput,
    hint: 'Sai no recibo, como "Rua do Sol, 10, Centro, Recife/PE".',
  },
  phone: { label: 'Telefone', kind: lineInput, hint: 'Sai no recibo.' },
  brand_color: {
    label: 'Cor da loja',
    kind: colorInput,
    hint: 'Em hexadecimal, como #0B5FA5. Deixe em branco para usar a cor do Tillbook.',
  },
})

/** Plan and CNPJ belong to the operator (OPS-29); the logo has a form of its own. */
const CompanyForm = z.strictObject(companyShape).omit({ plan: true, cnpj: true, logo_url: true })

async function showSettings(visit: PageContext): Promise<PanelPage | null> {
  const { reader } = visit.readModel
  const [company, paymentTypes, page] = await Promise.all([
    companyOf(visit),
    paymentTypesOf(visit),
    listUsers(reader, { limit: USERS }),
  ])
  if (!company) return null
  const users = recordsOnPage<UserObject>(page)
  const body = (
    <>
      <Card title="Empresa" aside={<ButtonLink to={`${PATH}/empresa`}>Editar</ButtonLink>}>
        <Facts
          facts={[
            ['Nome', company.name],
            ['CNPJ', company.cnpj],
            ['Inscrição estadual', company.state_registration],
            ['Regime tributário', company.tax_regime && TAX_REGIME_NAMES[company.tax_regime]],
            ['Endereço', company.address],
            ['Telefone', company.phone && formatPhone(company.phone)],
            ['Fuso horário', company.timezone],
            ['Plano', PLAN_NAMES[company.plan]],
          ]}
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
        <PaymentTypeTable paymentTypes={paymentTypes} />
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
    subject: companyOf,
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
