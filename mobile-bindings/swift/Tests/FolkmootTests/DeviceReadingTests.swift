import XCTest

@testable import Folkmoot

final class DeviceReadingTests: XCTestCase {
    func testWhatIsNotKnownIsToldAsNotKnown() {
        let conditions = DeviceReading().conditions
        XCTAssertNil(conditions.isCharging)
        XCTAssertNil(conditions.isUnmetered)
        XCTAssertNil(conditions.isIdle)
        XCTAssertNil(conditions.batteryPercent)
        XCTAssertEqual(conditions.thermal, .nominal)
    }

    func testABatteryIsReadInPercent() {
        var reading = DeviceReading()
        let levels: [(Float, UInt8)] = [(0, 0), (0.195, 20), (1, 100)]
        for (level, percent) in levels {
            reading.batteryLevel = level
            XCTAssertEqual(reading.conditions.batteryPercent, percent)
        }
        for level in [Float(-1), 1.5, .nan] {
            reading.batteryLevel = level
            XCTAssertNil(reading.conditions.batteryPercent)
        }
        reading.battery = .unplugged
        XCTAssertEqual(reading.conditions.isCharging, false)
        reading.battery = .charging
        XCTAssertEqual(reading.conditions.isCharging, true)
    }

    func testALinkIsUnmeteredIfItIsNeitherExpensiveNorConstrained() {
        var reading = DeviceReading()
        for (isExpensive, isConstrained) in [(false, false), (true, false), (false, true), (true, true)] {
            reading.link = DeviceReading.Link(
                isThere: true, isExpensive: isExpensive, isConstrained: isConstrained)
            XCTAssertEqual(reading.conditions.isUnmetered, !isExpensive && !isConstrained)
        }
        reading.link = DeviceReading.Link(isThere: false, isExpensive: false, isConstrained: false)
        XCTAssertNil(reading.conditions.isUnmetered)
    }

    func testHeatHasTheSameSteps() {
        let steps: [(ProcessInfo.ThermalState, Thermal)] = [
            (.nominal, .nominal), (.fair, .fair), (.serious, .serious), (.critical, .critical),
        ]
        for (state, expected) in steps {
            XCTAssertEqual(Thermal(state), expected)
        }
    }
}

final class DevicePolicyTests: XCTestCase {
    func testEachRequirementPausesByItsName() {
        let good = DeviceConditions(isCharging: true, isUnmetered: true, isIdle: true, batteryPercent: 80)
        XCTAssertNil(DevicePolicy.overnight.reasonToPause(good))
        XCTAssertEqual(DevicePolicy.overnight.reasonToPause(DeviceConditions()), "charging")
        let metered = DeviceConditions(isCharging: true, isUnmetered: false, isIdle: true)
        XCTAssertEqual(DevicePolicy.overnight.reasonToPause(metered), "unmetered")
        let inUse = DeviceConditions(isCharging: true, isUnmetered: true, isIdle: false)
        XCTAssertEqual(DevicePolicy.overnight.reasonToPause(inUse), "idle")
        let low = DeviceConditions(isCharging: false, batteryPercent: 19)
        XCTAssertEqual(DevicePolicy.standard.reasonToPause(low), "battery")
        XCTAssertEqual(DevicePolicy.standard.reasonToPause(DeviceConditions(thermal: .serious)), "thermal")
        XCTAssertNil(DevicePolicy.standard.reasonToPause(DeviceConditions()))
    }
}

final class PauseReasonsTests: XCTestCase {
    func testAClientRestsUntilNoReasonIsLeft() {
        var reasons = PauseReasons()
        XCTAssertNil(reasons.first)
        reasons.insert("user")
        reasons.insert("background")
        reasons.insert("user")
        XCTAssertEqual(reasons.first, "user")
        reasons.remove("user")
        XCTAssertEqual(reasons.first, "background")
        reasons.remove("user")
        reasons.remove("background")
        XCTAssertNil(reasons.first)
    }
}
