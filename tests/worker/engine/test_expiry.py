from dataclasses import replace

import pytest

from tests.servers import RedisServer, wait_until
from tests.worker.samples import stored_dataset, submission
from worker.engine import Engine, open_engine
from worker.store.errors import Gone
from worker.store.settings import Settings


@pytest.fixture
def brief(settings: Settings) -> Engine:
    return open_engine(
        replace(settings, dataset_lifetime_seconds=0.05, fit_lifetime_seconds=0.05, model_lifetime_seconds=0.05)
    )


def test_what_is_past_its_time_is_gone_and_nothing_of_it_stays(brief: Engine, tenant: str, server: RedisServer) -> None:
    dataset = stored_dataset(brief, tenant)
    model = brief.models.import_file(tenant, data=b"x", card={}, method="melm")
    fit, _ = brief.fits.submit(tenant, submission(dataset).model_copy(update={"name": "n"}))
    brief.fits.cancel(tenant, fit.id)
    assert dataset.expires_at is not None
    wait_until(lambda: brief.expiry.sweep() + len(brief.fits.page(tenant).data) == 0)
    wait_until(lambda: not brief.datasets.page(tenant).data and not brief.models.page(tenant).data)
    for call, id in ((brief.datasets.get, dataset.id), (brief.models.get, model.id), (brief.fits.get, fit.id)):
        with pytest.raises(Gone, match="expired"):
            call(tenant, id)
    kept = {key.decode().split("}:")[1].split(":")[0] for key in server.client.scan_iter(f"melm:{{{tenant}}}*")}
    assert kept == {"tombstone"}
    assert server.client.zcard("melm:expiries") == 0


def test_what_is_in_use_stays(brief: Engine, tenant: str) -> None:
    dataset = stored_dataset(brief, tenant)
    fit, _ = brief.fits.submit(tenant, submission(dataset))
    model = brief.models.import_file(tenant, data=b"x", card={}, method="melm")
    brief.models.put_alias(tenant, "champion", model.id)
    assert model.expires_at is not None
    expires_at = model.expires_at
    wait_until(lambda: brief.connection.now() > expires_at)
    assert brief.expiry.sweep() == 0
    assert brief.datasets.get(tenant, dataset.id) == dataset
    assert brief.models.get(tenant, model.id) == model
    assert brief.fits.get(tenant, fit.id).is_active


def test_without_a_lifetime_nothing_expires(store: Engine, tenant: str) -> None:
    assert stored_dataset(store, tenant).expires_at is None
    assert store.expiry.sweep() == 0
