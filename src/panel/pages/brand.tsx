import { deleteCompanyLogo, setCompanyLogo } from '#commands/company-logo.ts'
import { uploadedLogo } from '#domain/brand-color.ts'
import { formatPhone } from '#domain/brazilian-format.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { CompanyObject } from '#projections/companies.ts'
import { getRow } from '#queries/events.ts'
import type { FormRoute, FormSubmission, PageContext } from '../route.ts'
import { buttonRoute, runAndRedirect } from '../ui/form-pages.tsx'
import { Card, Facts } from '../ui/parts.tsx'
import { PictureForm, PictureProblem, uploadPicture } from '../ui/picture-form.tsx'

const SETTINGS = '/configuracoes'
const LOGO = `${SETTINGS}/logotipo`

export async function companyOf({ readModel }: PageContext): Promise<CompanyObject | null> {
  return (await getRow(readModel.reader, 'company', readModel.companyId)) as CompanyObject | null
}

/** Site of a logo that was not uploaded; null without one. */
export const logoOriginOf = (company: CompanyObject | null): string | null =>
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
export const BrandCard = ({ visit, company: { name, logo_url, brand_color }, refusal }: BrandProps) => {
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
  const company = await companyOf(submission)
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

const changing = { section: 'settings', access: 'manage_company' } as const

export const brandForms: readonly FormRoute[] = [
  { ...changing, path: LOGO, takesFile: true, submit: upload },
  buttonRoute<CompanyObject>({
    ...changing,
    path: `${LOGO}/excluir`,
    subject: companyOf,
    act: (submission) => runAndRedirect(submission, deleteCompanyLogo, {}, { to: SETTINGS, flash: 'marca-excluida' }),
  }),
]
