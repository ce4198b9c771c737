// Takes the pictures of docs/reports.md.
//
// usage: node screenshots.mjs REPORT.html FOLDER FINDING [CHROMIUM], in a folder with the packages of
// package.json
import { join } from "node:path";
import { launch, openPage } from "./test/browser.mjs";

const [, , file, folder, finding, executable = "/usr/bin/chromium"] = process.argv;
if (finding === undefined) {
  console.error("usage: node screenshots.mjs REPORT.html FOLDER FINDING [CHROMIUM]");
  process.exit(2);
}
const browser = await launch(executable);

async function shot(name, options, arrange) {
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

await shot("report-overview.png", { viewport: { width: 1280, height: 860 } }, async () => undefined);
await shot("report-finding.png", { viewport: { width: 1280, height: 760 } }, async (page) => {
  await unfold(page);
});
await shot("report-heatmap.png", { viewport: { width: 1280, height: 1400 }, colorScheme: "dark" }, async (page) => {
  const item = await unfold(page);
  await item.locator("input[type=radio]").last().check();
  const box = await item.locator(".picture").boundingBox();
  return { x: 0, y: box.y - 40, width: 1280, height: Math.min(760, box.height + 52) };
});
await browser.close();
