using System.Net.Http.Headers;
using Newtonsoft.Json;
using Tillbook;

// The calls of ../programs/*.ts with the client that NSwag generates: prints what the test expects.
var http = new HttpClient();
http.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KEY"));
var tillbook = new TillbookClient(http);
tillbook.BaseUrl = Environment.GetEnvironmentVariable("BASE") + "/api/v1";

var customer = (await tillbook.CreateCustomerAsync(null, new CustomerInput { Name = "Maria da Silva" })).Data;
var item = (await tillbook.CreateCatalogItemAsync(null, null, new CatalogItemInput
{
    Name = "Café torrado 500 g",
    Price = "18.90",
    Stock = "10",
    Gtin = "SEM GTIN",
})).Data;

var cash = (await tillbook.ListPaymentTypesAsync(null, null)).Data.First(type => type.Is_cash);
var order = new SaleInput
{
    External_id = "PEDIDO-1",
    Customer_id = customer.Id,
    Items = [new SaleItemInput { Catalog_item_id = item.Id, Quantity = "2" }],
    Payments = [new SalePaymentInput { Payment_type_id = cash.Id, Amount = "40.00" }],
};
var sale = (await tillbook.CreateSaleAsync("PEDIDO-1", order)).Data;
var replayed = (await tillbook.CreateSaleAsync("PEDIDO-1", order)).Data;
var cancelled = (await tillbook.CancelSaleAsync(sale.Id, null, new SaleCancellationInput { Reason = "Cliente desistiu" })).Data;

var names = new List<string>();
string cursor = null;
do
{
    var page = await tillbook.ListCustomersAsync(2, cursor, null, null, null, null, null, null, null, null);
    names.AddRange(page.Data.Select(one => one.Name));
    cursor = page.Meta.Next_cursor;
} while (cursor != null);

var receivable = (await tillbook.CreateReceivableAsync(null, new ReceivableInput
{
    Description = "Pedido 1",
    Amount = "37.80",
    Due_date = new DateTimeOffset(2030, 1, 10, 0, 0, 0, TimeSpan.Zero),
})).Data;
var settled = (await tillbook.SettleReceivableAsync(receivable.Id, "NF-1", new Settlement
{
    Payment_method = "pix",
})).Data;

var webhook = (await tillbook.RegisterWebhookAsync(null, new RegisterWebhookInput
{
    Url = "https://tillbook.example/hook",
    Events = [WebhookSubscription.Sale_completed],
})).Data;

// Null is not sent; an empty text clears a field.
await tillbook.UpdateCustomerAsync(customer.Id, null, null, new CustomerChanges { Notes = "VIP" });
var cleared = (await tillbook.UpdateCustomerAsync(customer.Id, null, null, new CustomerChanges { Notes = "" })).Data;

// Each refusal and each failed item of a batch has a code, and details of one type.
async Task<string> RefusalOf(Func<Task> call)
{
    try
    {
        await call();
        return "none";
    }
    catch (ApiException<Error> problem)
    {
        var told = problem.Result.Error1;
        var details = told.Details;
        return $"{problem.StatusCode} {told.Code} {details?.Field}{details?.Requested}{details?.Fields?.Keys.First()}";
    }
}
var keyless = new TillbookClient(new HttpClient()) { BaseUrl = tillbook.BaseUrl };
var refusals = new[]
{
    await RefusalOf(() => keyless.GetMeAsync(null, null)),
    await RefusalOf(() => tillbook.GetCustomerAsync(999_999_999, null, null)),
    await RefusalOf(() => tillbook.CreateCustomerAsync(null, new CustomerInput { Name = "Ana" })),
    await RefusalOf(() => tillbook.CreateCustomerAsync(null, new CustomerInput { Name = "" })),
    await RefusalOf(() => tillbook.CreateSaleAsync(null, new SaleInput
    {
        Items = [new SaleItemInput { Catalog_item_id = item.Id, Quantity = "50" }],
        Payments = [new SalePaymentInput { Payment_type_id = cash.Id, Amount = "945.00" }],
    })),
};
var batch = await tillbook.BatchCustomersAsync(null, new BatchCustomersInput
{
    Items = [new CustomerBatchItem { External_id = "A", Name = "Eva" }, new CustomerBatchItem { External_id = "B", Name = "Ana" }],
});
var failed = batch.Meta.Errors.Select(error => $"{error.Index} {error.External_id} {error.Code} {error.Details.Field}");

// Every list with a parameter of time or of a day: all of them at once.
var moments = new Dictionary<string, bool>();
var since = DateTimeOffset.Now.AddDays(-1);
foreach (var method in typeof(TillbookClient).GetMethods().Where(one => one.Name != "StreamEventsAsync"))
{
    var parameters = method.GetParameters();
    if (parameters.All(one => one.ParameterType != typeof(DateTimeOffset?))) continue;
    if (parameters.Last().ParameterType == typeof(CancellationToken)) continue;
    object ValueOf(System.Reflection.ParameterInfo one) => one.ParameterType == typeof(DateTimeOffset?) ? since
        : one.ParameterType != typeof(long) ? null
        : method.Name.Contains("CatalogItem") ? item.Id : sale.Id;
    await (Task)method.Invoke(tillbook, parameters.Select(ValueOf).ToArray());
    moments[method.Name] = true;
}

Console.WriteLine(JsonConvert.SerializeObject(new
{
    customer = new { name = customer.Name, email = customer.Email },
    item = new { gtin = item.Gtin, stock = item.Stock },
    sale = new { total = sale.Total, change = sale.Change, is_same = sale.Id == replayed.Id },
    cancelled = new { status = $"{cancelled.Status}", reason = cancelled.Cancel_reason },
    names,
    settled = new { status = $"{settled.Status}", method = $"{settled.Payment_method}" },
    webhook = new { url = webhook.Url, secret = webhook.Secret[..6] },
    cleared = cleared.Notes,
    refusals,
    failed,
    moments = moments.Keys.Order(),
}));
