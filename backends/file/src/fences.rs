//! The greatest token that came for a resource: a sheet for each, in decimal digits.

use elect_api::{ElectionName, Error, ErrorKind, Fenced, Key, Token};

use crate::door::Door;
use crate::fault::wrong;
use crate::hall::{FENCE, Hall};
use crate::root::Root;
use crate::sheet;

/// The digits of the greatest token.
const LONGEST: usize = 20;

fn file_of(resource: &Key) -> String {
    format!("fence-{resource}")
}

/// Records a token, unless a greater one is recorded.
pub(crate) async fn pass(
    root: &Root,
    election: &ElectionName,
    resource: &Key,
    token: Token,
) -> Result<Fenced, Error> {
    let hall = Hall::create(root, election)?;
    let (hall, _fence) = Door::default().enter(hall, FENCE).await?;
    let name = file_of(resource);
    match recorded(&hall, &name)? {
        Some(greatest) if greatest > token => return Ok(Fenced::Stale(greatest)),
        Some(same) if same == token => {}
        _ => sheet::replace(&hall, &name, token.to_string().as_bytes())?,
    }
    Ok(Fenced::Passed)
}

/// Who can write there can write anything: what is no token lets nobody pass.
fn recorded(hall: &Hall, name: &str) -> Result<Option<Token>, Error> {
    let Some((file, _)) = sheet::open(hall, name)? else { return Ok(None) };
    let path = hall.path_of(name);
    let text = sheet::read(&file, LONGEST, &path)?;
    let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    let token = number.map(Token::new).ok_or_else(|| {
        let what = "holds no token: write the greatest one there that was used, in digits only";
        wrong(ErrorKind::Unfit, &path, what)
    })?;
    Ok(Some(token))
}
