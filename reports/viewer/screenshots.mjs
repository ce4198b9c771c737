// Takes the pictures of docs/reports.md.
//
// usage: node screenshots.mjs RUN.html FINDING CAMPAIGN.html COMPARED.html FOLDER [CHROMIUM], in a folder with the
// packages of package.json
import { join } from "node:path";
import { launch, openPage } from "./test/browser.mjs";

const [, , run, finding, campaign, compared, folder, executable = "/usr/bin/chromium"] = process.argv;
if (folder === undefined) {
  console.error("usage: node screenshots.mjs RUN.html FINDING CAMPAIGN.html COMPARED.html FOLDER [CHROMIUM]");
  process.exit(2);
}
const browser = await launch(executable);

async function shot(file, name, options, arrange) {
  const { page, problems, close } = await openPage(browser, file, options);
  const clip = await arrange(page);
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(folder, name), ...(clip ? { clip } : {}) });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  await close();
}

const unfold = async (page) => {
  const details = page.locator(`#${finding} > details`);
  await details.evaluate((element) => (element.open = true));
  await page.locator(`#${finding}`).evaluate((element) => element.scrollIntoView());
  return page.locator(`#${finding}`);
};

await shot(run, "report-overview.png", { viewport: { width: 1280, height: 860 } }, async () => undefined);
await shot(compared, "report-compared.png", { viewport: { width: 1280, height: 620 } }, async (page) => {
  await page.locator("#compared").evaluate((element) => element.scrollIntoView());
});
await shot(run, "report-finding.png", { viewport: { width: 1280, height: 760 } }, async (page) => {
  await unfold(page);
});
await shot(run, "report-heatmap.png", { viewport: { width: 1280, height: 1400 }, colorScheme: "dark" }, async (page) => {
  const item = await unfold(page);
  await item.locator("input[type=radio]").last().check();
  const box = await item.locator(".picture").boundingBox();
  return { x: 0, y: box.y - 40, width: 1280, height: Math.min(760, box.height + 52) };
});
await shot(campaign, "report-campaign.png", { viewport: { width: 1280, height: 1000 } }, async (page) => {
  await page.locator("#campaign").evaluate((element) => element.scrollIntoView());
});
await browser.close();
